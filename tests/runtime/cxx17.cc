// plait.hpp read as C++17: all of it is instantiated, nothing is run.
#include <plait/plait.hpp>

#include <list>

template class plait::allocator<double>;
template class std::vector<double, plait::allocator<double>>;
template class std::list<int, plait::allocator<int>>;

namespace {

[[maybe_unused]] double all_of_it() {
  plait::library library;
  plait::communicator comm = plait::make_communicator();
  plait::communicator child = plait::split(comm, 0);
  plait::vector<double> sums(3);
  plait_request* started = nullptr;
  plait::check(plait_allreduce(comm.get(), sums.data(), sums.data(), sums.size(), PLAIT_FLOAT64, PLAIT_SUM,
                               nullptr, &started),
               comm.get());
  plait::request request(started);
  plait::buffer buffer(4096);
  std::pmr::vector<int> ints(plait::shared_memory());
  return sums[0] + buffer.as<double>()[buffer.count<double>() - 1] + double(ints.size());
}

}  // namespace

// Trains a network on as many processes as there are: each computes the gradients of its share of the images,
// plait averages them. averager.cc is what that takes; training.cc is where it is used.
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "mlp/training.h"

namespace mlp {
namespace {

// What the options leave open can be wrong for this data and this number of ranks.
void check_shares(const Job& job, const Data& data, const Options& o) {
  const char* why = nullptr;
  if (o.batch % job.size() != 0) why = "is no multiple of the number of ranks: they take equal shares of it";
  if (o.batch > data.train.count()) why = "is more than there are training images";
  if (why == nullptr) return;
  if (job.rank() == 0) std::fprintf(stderr, "mlp: --batch %zu %s\n", o.batch, why);
  std::exit(2);
}

void write(const Result& result, const Job& job, const Options& o) {
  const plait_codec_stats& c = result.codec;
  std::ofstream file(o.out);
  file.precision(9);
  file << R"({"ranks": )" << job.size() << R"(, "parameters": )" << result.parameters << R"(, "steps": )"
       << result.steps * result.epochs.size() << R"(,
 "codec": {"calls": )"
       << c.calls << R"(, "plain_calls": )" << c.plain_calls << R"(, "value_bytes": )" << c.value_bytes
       << R"(, "wire_bytes": )" << c.wire_bytes << R"(},
 "epochs": [)";
  const char* comma = "";
  for (const Epoch& e : result.epochs) {
    file << comma << "\n  "
         << R"({"loss": )" << e.loss << R"(, "accuracy": )" << e.accuracy << R"(, "seconds": )" << e.seconds
         << R"(, "waited": )" << e.waited << "}";
    comma = ",";
  }
  file << "]}\n";
  if (file.flush()) return;
  std::fprintf(stderr, "mlp: %s: cannot be written\n", o.out.c_str());
  std::exit(1);
}

}  // namespace
}  // namespace mlp

int main(int argc, char** argv) {
  const mlp::Options options = mlp::parse(argc, argv);
  const mlp::Data data = mlp::load(options.data);
  mlp::Job job(options);
  mlp::check_shares(job, data, options);
  const mlp::Result result = mlp::train(job, data, options);
  if (job.rank() == 0 && !options.out.empty()) mlp::write(result, job, options);
  return 0;
}

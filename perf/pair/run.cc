#include "perf/pair/run.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "perf/pair/device.h"
#include "perf/pair/measure.h"
#include "perf/pair/report.h"

namespace plait::perf::pair {
namespace {

constexpr Seconds kDialPatience = 5;  // for a server that is being started

Result<bootstrap::SecretPtr> secret_of_environment() {
  const char* file = std::getenv("PLAIT_SECRET_FILE");
  if (file == nullptr || *file == 0) return bootstrap::SecretPtr();
  return bootstrap::load_secret(file);
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options), report_(options) {}

  Status all() {
    auto secret = secret_of_environment();
    if (!secret.ok()) return secret.status();
    secret_ = *secret;
    auto device = find_device(options_);
    if (!device.ok()) return device.status();
    device_ = *device;
    // Who has no such device hears it before anybody is waited for.
    PLAIT_TRY(open_device(device_, {}, secret_).status());
    PLAIT_TRY(meet());
    Status status = together();
    if (!status.ok()) control_->fail(status);
    return status;
  }
  bool good() const noexcept { return wrong_ == 0 && enough_; }

 private:
  Status meet() {
    auto control = options_.is_server()
                       ? Control::serve(options_.port, secret_, options_.wait_s,
                                        [this](uint16_t port) { report_.waiting(port); })
                       : Control::dial(options_.server, options_.port, secret_, kDialPatience);
    if (!control.ok()) return control.status();
    control_ = std::move(*control);
    return control_->greet(hello_of(options_, device_.kind(), device_.name()), options_.timeout_s);
  }

  Status together() {
    auto domain = open_device(device_, control_->local(), secret_);
    if (!domain.ok()) return domain.status();
    if (options_.is_server()) on_the_way_ = open_chips_on_the_way(device_);
    auto session = Session::open(options_, std::move(*domain), device_.shm, *control_);
    if (!session.ok()) return session.status();
    const Setup setup = setup_of(**session);
    report_.banner(setup);
    report_.columns();
    control_->on_row([&](const Row& row) {
      (*session)->progress().end();
      return take(row);
    });
    for (const size_t bytes : options_.sizes) PLAIT_TRY(measure(**session, bytes));
    PLAIT_TRY((*session)->part());
    report_.end(wrong_);
    return options_.json.empty() ? Status() : write_json(options_.json, options_, setup, rows_);
  }

  Setup setup_of(const Session& session) const {
    Setup setup;
    setup.device = session.device();
    setup.control =
        std::string("TCP, ") + (control_->authenticated() ? "authenticated (PLAIT_SECRET_FILE)" : "plain");
    const Hello mine = hello_of(options_, device_.kind(), setup.device);
    setup.local = setup.device + ", " + describe(mine);
    setup.remote = control_->theirs().device + ", " + describe(control_->theirs());
    setup.depth = session.depth();
    setup.inline_bytes = session.capabilities().inline_bytes;
    return setup;
  }

  Status measure(Session& session, size_t bytes) {
    const std::string what = "measuring " + std::to_string(bytes) + " bytes";
    session.progress().begin(what, options_.seconds == 0 ? options_.iterations * options_.qps : 0);
    auto measured = warmed(session, bytes);
    session.progress().end();
    if (!measured.ok())
      return {measured.status().code(), what + ": " + std::string(measured.status().text())};
    wrong_ += measured->row.wrong;
    report_.samples(std::move(measured->samples));
    tell(measured->row);
    return {};
  }
  Result<Latencies> warmed(Session& session, size_t bytes) {
    if (options_.warm_up) {
      auto warm = once(session, bytes, warm_up_of(session));
      if (!warm.ok()) return warm;
      wrong_ += warm->row.wrong;
    }
    return once(session, bytes, length_of(options_));
  }
  Result<Latencies> once(Session& session, size_t bytes, const Length& length) {
    if (!options_.tool.bandwidth()) return measure_latency(session, bytes, length);
    auto row = measure_bandwidth(session, bytes, length, [&](const Row& interim) {
      session.progress().end();
      return give(interim);
    });
    return row.ok() ? Result<Latencies>(Latencies{*row, {}}) : row.status();
  }

  // A row of --run_infinitely, of what this side sent: who measures tells the other side. With -b that is the
  // client, once it has heard of the server's direction.
  Status give(const Row& own) {
    if (!options_.bidirectional) return share(own);
    if (options_.is_server()) return control_->say(Kind::row, encode(own));
    if (!theirs_) return {};
    Row both = own;
    both.bandwidth = pair::together(own.bandwidth, theirs_->bandwidth);
    both.iterations = std::max(own.iterations, theirs_->iterations);
    theirs_.reset();
    return share(both);
  }
  Status take(const Row& row) {
    if (options_.bidirectional && !options_.is_server()) {
      theirs_ = row;
    } else {
      tell(row);
    }
    return {};
  }
  Status share(const Row& row) {
    tell(row);
    return control_->say(Kind::row, encode(row));
  }

  void tell(const Row& row) {
    rows_.push_back(row);
    report_.row(row);
    const std::string lacks = shortfall(options_, row);
    if (lacks.empty()) return;
    std::fprintf(stderr, "%s: %s\n", name_of(options_.tool).c_str(), lacks.c_str());
    enough_ = false;
  }

  const Options& options_;
  const Report report_;
  bootstrap::SecretPtr secret_;
  Device device_;
  std::vector<std::unique_ptr<transport::Domain>> on_the_way_;
  std::unique_ptr<Control> control_;
  std::vector<Row> rows_;
  std::optional<Row> theirs_;  // the latest of the server's direction
  uint64_t wrong_ = 0;
  bool enough_ = true;
};

}  // namespace

int run(Tool tool, int argc, const char* const* argv) {
  const Parsed parsed = parse(tool, argc, argv);
  if (parsed.exit_status) return *parsed.exit_status;
  if (parsed.options.infinite && !parsed.options.is_server()) catch_interrupts();
  Run run(parsed.options);
  const Status status = run.all();
  if (!status.ok())
    std::fprintf(stderr, "%s: %s\n", name_of(tool).c_str(), std::string(status.text()).c_str());
  return status.ok() && run.good() ? 0 : 1;
}

}  // namespace plait::perf::pair

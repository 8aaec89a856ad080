// A short conversation between two ranks that need not be neighbours in the tree: authenticated, in order, of
// whole messages. Both sides call Group::meet; whoever dials is the bootstrap's business.
#pragma once

#include <memory>
#include <optional>

#include "base/bytes.h"
#include "base/status.h"

namespace plait::bootstrap {

struct MeetingState;

// Used by the thread that drives the Group. Destroying it closes the conversation: what was sent while it
// was open still arrives. It may outlive its Group; it has failed then.
class Meeting {
 public:
  enum class State : uint8_t {
    connecting,  // messages may be sent; they wait
    open,
    failed  // the other side closed, or status() says what went wrong. What came before may still be received
  };
  static constexpr size_t kMostMessage = 4u << 20;
  static constexpr size_t kMostQueued = 16u << 20;

  explicit Meeting(std::shared_ptr<MeetingState> state) noexcept;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  ~Meeting();

  int rank() const noexcept;
  State state() const noexcept;
  const Status& status() const noexcept;
  // False when it has failed, the message is longer than kMostMessage, or kMostQueued bytes wait already.
  bool send(ByteView message);
  // The next message of the other side, if it has come.
  std::optional<Bytes> receive();

 private:
  std::shared_ptr<MeetingState> state_;
};

}  // namespace plait::bootstrap

// A communicator: its peers, its operations in order, and what becomes of them when somebody fails. Thread
// rules as in plait.h: one driving thread at a time, abort and last_error from any.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/wait.h"
#include "bootstrap/group.h"
#include "collectives/machine/real/machine.h"
#include "collectives/plan.h"
#include "runtime/agreed.h"
#include "runtime/board.h"
#include "runtime/bounce.h"
#include "runtime/config.h"
#include "runtime/cores.h"
#include "runtime/fabric.h"
#include "runtime/messages.h"
#include "runtime/near.h"
#include "runtime/peer.h"
#include "runtime/programs.h"
#include "runtime/reach.h"
#include "runtime/recorder.h"
#include "runtime/request.h"
#include "runtime/tensors.h"
#include "transport/exchange.h"
#include "transport/mailbox.h"
#include "transport/shm/arena.h"
#include "transport/transport.h"

namespace plait::runtime {

enum class Why : uint8_t;  // of dump.h
struct Family;             // of family.h

// What a communicator tells over its group.
constexpr uint32_t kBroken = bootstrap::Notice::kFirstFree;  // it broke
constexpr uint32_t kChildFailed =
    bootstrap::Notice::kFirstFree + 1;  // one that is made from it did not come about
// Its link to `culprit` ended; and what that one says when it is there: links end with those who leave, too.
constexpr uint32_t kLinkEnded = bootstrap::Notice::kFirstFree + 2;
constexpr uint32_t kStillHere = bootstrap::Notice::kFirstFree + 3;

class Communicator {
 public:
  static Result<std::unique_ptr<Communicator>> create(const Config& config, uint32_t epoch);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int32_t rank() const noexcept { return config_.rank; }
  int32_t size() const noexcept { return config_.size; }
  Waiter::Policy policy() const noexcept { return policy_; }
  const Levels& levels() const noexcept { return levels_; }
  const collectives::Methods& methods() const noexcept { return planner_->methods(); }

  // Collective: a communicator of the ranks that give the same color, by key and rank; null where color is
  // negative. Blocks, up to `made`'s deadline for joining. `maker`: kSplitCall or kDupCall. When it fails,
  // this communicator is as it was, or broken(). split.cc
  Result<std::unique_ptr<Communicator>> split(uint32_t maker, int32_t color, int32_t key, const Config& made);
  const Config& config() const noexcept { return config_; }

  // Makes a request, not started. Code::invalid, Code::unsupported; or what broke the communicator.
  Result<plait_request*> make(const Args& args, bool persistent);
  // again.cc: calls like earlier ones.
  // A request of an earlier call, released, for which `given`, not checked, is as good: the same but for
  // where equally distant buffers lie. It stays where it is until take_ready(). Null: make() one.
  plait_request* ready_for(const EvenCall& given) const noexcept {
    plait_request* const ready = ready_[place_of(given.collective, given.root, given.count)];
    return ready != nullptr && given.is_like(ready->args) ? ready : nullptr;
  }
  // It is the caller's, of a call with these buffers.
  void take_ready(plait_request& request, const void* in, void* out) noexcept;
  // May a call with these buffers be run_now()?
  bool may_run_now(const plait_request& ready, const void* in, const void* out) const noexcept;
  // Runs it to its end if that comes soon; the request stays ready. False: it was taken, and started; wait()
  // for it.
  bool run_now(plait_request& ready, const void* in, void* out) noexcept;
  // A request of a send or receive that was checked, of a communicator that is not broken.
  plait_request* make_message(Letter::Kind kind, int32_t peer, int32_t tag, std::byte* data, size_t bytes);
  // A short message without a request: done. False: nothing happened, and it needs one.
  bool send_now(int32_t peer, int32_t tag, const std::byte* data, size_t bytes, bool blocking) noexcept;
  bool receive_now(int32_t peer, int32_t tag, std::byte* data, size_t bytes) noexcept;
  // short_messages.h: the same of transport::kInlineBytes at most; false, too, where those above would do it.
  [[gnu::always_inline]] bool send_inline(int32_t peer, int32_t tag, const std::byte* data,
                                          size_t bytes) noexcept;
  [[gnu::always_inline]] bool receive_inline(int32_t peer, int32_t tag, std::byte* data,
                                             size_t bytes) noexcept;
  // The same in a group: of a message that has landed, without waiting for it.
  [[gnu::always_inline]] bool receive_landed_inline(int32_t peer, int32_t tag, std::byte* data,
                                                    size_t bytes) noexcept;
  // The same of a message that must be there already; `moved`: its length.
  bool receive_landed(int32_t peer, int32_t tag, std::byte* data, size_t bytes, size_t& moved) noexcept;
  // What its user holds of a short message of `moved` bytes that is done: nothing else is known of it, so all
  // that are held at a time may have the same one.
  plait_request* brief(size_t moved);
  // What a plan of a collective could run, the best one first; the same for people.
  std::vector<collectives::Weighed> candidates(const plait_request& plan);
  std::string explain(const plait_request& plan);
  // Puts it behind those started before. It may move at once. `together`: who started it waits for it, with
  // others, before doing anything else, so messages may leave with them.
  void start(plait_request* request, bool together = false) noexcept;
  // Frees a request that is not started or done.
  void release(plait_request* request) noexcept;

  // Moves on. True when something moved.
  bool advance() noexcept;
  // Now and then while waiting: abort flag, peers, mismatches, deadlines. `waited` may be null.
  void check(plait_request* waited) noexcept;
  // Whether the user's own polling has gone on long enough for a check().
  bool polled_long() noexcept { return ++polls_ % 64 == 0; }
  // Until something may have moved, kLongNapMs at most. Returns at once when something did meanwhile.
  void sleep(int most_ms = kNapMs) noexcept;
  // Blocks until `request` is done.
  void wait(plait_request* request) noexcept;

  // What codecs keep. Nothing is pending.
  Tensors& tensors() noexcept { return tensors_; }
  plait_codec_stats codec_stats() const noexcept;

  // Ranks that are known not to have called the running operation.
  std::vector<int32_t> absent() const;
  // Ok, or what broke it; and the rank to blame for it, or -1.
  Status broken() const;
  int32_t culprit() const noexcept { return board_->culprit.load(std::memory_order_relaxed); }
  bool is_broken() const noexcept { return is_broken_.load(std::memory_order_acquire); }
  bool pending() const noexcept { return head_ != nullptr || messages_.busy(); }
  // Breaks it, for a reason of its user's that other ranks are told.
  void give_up(Status status, int32_t culprit) noexcept;
  void abort() noexcept;                         // any thread
  std::string last_error() const;                // any thread
  Status dump(const char* path) const noexcept;  // any thread; plait_comm_dump
  void note_error(const Status& status);         // for last_error
  // Says goodbye: waits until every rank left, unless broken.
  Status leave() noexcept;

 private:
  // Between looks of who sleeps, and of who has waited and may wait long; well below kSilentNs.
  static constexpr int kNapMs = 100, kLongNapMs = 250, kNapsToDeadline = 16;
  // Of run_now(): the first have no pause, which may take longer than a line to the other core (40 ns).
  static constexpr uint32_t kLooksNow = 256, kEagerLooks = 4;
  static constexpr uint32_t kModest = 32, kSpreadEvery = 1024;  // operations
  static constexpr size_t kShapes = 64, kReady = 16;  // remembered; requests kept ready; powers of two
  static constexpr uint32_t kLookAround = 8;          // polls of messages
  static constexpr uint32_t kTogether = 32;           // messages of a group that leave together
  static constexpr uint32_t kOrderlyEvery = 256;      // of so many short messages, one takes a request
  static constexpr uint32_t kLooksForMessage = 256;   // before a receive takes one: some microseconds
  static constexpr uint32_t kMostStrangeLooks = 200;

  struct Exposed {
    uint64_t registration = 0;  // that it was exposed for
    std::unique_ptr<transport::Region> region;
  };

  explicit Communicator(const Config& config);
  // join.cc: becoming a communicator.
  Status join(uint32_t epoch);
  Status join_nobody();
  Status settle_in(const transport::Bounds& bounds);
  Result<std::shared_ptr<const collectives::Tuning>> read_tuning() const;
  Status read_programs();
  Status agree_on_programs(const Status& mine, bool differ, const transport::Bounds& bounds);
  Status unlike(int32_t rank) const;
  Status share_identities(const transport::Bounds& bounds, Agreed& agreed);
  Status make_board();
  std::string name_of(int32_t rank) const;
  std::string what_became_of(int32_t rank) const;  // who died, as others say

  // join_network.cc: what joins it to ranks that it shares no memory with.
  Status join_networks(const transport::Bounds& bounds, Agreed& agreed);
  Result<NetworkCard> open_networks(const Alternatives& networks, const HostRanks& here);
  Status read_network_cards(const std::vector<Bytes>& all, std::vector<NetworkCard>& cards) const;
  Result<std::vector<ReachCard>> tell_reach(const std::vector<NetworkCard>& cards, size_t before_shm,
                                            const transport::Bounds& bounds);
  Status reaches(int32_t rank, Way way, const NetworkCard& card) const;

  // split.cc: making others of its ranks.
  Status assemble(uint32_t maker, const Deadline& deadline);
  Result<std::vector<Bytes>> exchange(ByteView mine, const Deadline& deadline);
  Result<std::unique_ptr<Communicator>> raise(const Family& family, std::optional<bootstrap::Invitation> mine,
                                              const Config& made, const Deadline& deadline);
  Status join_family(Communicator& parent, const Family& family, bootstrap::Invitation mine,
                     const Deadline& deadline);
  Status news_of(const Family& family);
  Status explain(const Family& family, Status status);

  // connect.cc: peers, when a plan needs them.
  Peer* peer(int32_t rank) const noexcept { return peers_[size_t(rank)].get(); }
  bool connected(const Prepared& p) noexcept;
  void need_peers(const collectives::real::Schedule& schedule) noexcept;
  Status meet(int32_t rank);
  void advance_connecting() noexcept;
  bool step_connections() noexcept;
  void link(int32_t rank) noexcept;

  const Prepared& prepare(const Args& args, Status* status);
  Status fill(const Args& args, Prepared& prepared);
  collectives::Shape shape_of(const Args& args, const UserOperator* custom, bool in_place) const;
  Status choose_codec(const Args& args, Prepared& prepared, collectives::Shape& shape);
  Status find_tensor(plait_request& request);
  // low_rank.cc
  bool is_low_rank(const Args& args);
  Status make_low_rank(plait_request& request);
  void begin_low_rank(plait_request& request) noexcept;
  bool next_of_low_rank(plait_request& request) noexcept;
  void begin(plait_request* request) noexcept;
  void launch(plait_request* request) noexcept;
  bool is_volley(const Prepared& p, const void* in, const void* out) const noexcept;
  bool is_common(const Prepared& p, const void* in, const void* out) const noexcept;
  void bind_again(const Prepared& p, uint64_t number, const void* in, void* out) noexcept;
  void start_again(const Prepared& p, uint64_t number, const void* in, void* out) noexcept;
  bool pair_now(const Prepared& p, uint64_t number, const void* in, void* out) noexcept;
  bool machine_now(const Prepared& p, uint64_t number, const void* in, void* out) noexcept;
  bool exchange_now(const Prepared& p, uint64_t number, const void* in, void* out) noexcept;
  static collectives::Store store_of(const Prepared& p) noexcept;
  collectives::real::Bound bound_of(std::byte* data, size_t bytes) const noexcept;
  collectives::real::Call& take_call(const Prepared& p, uint64_t number) noexcept;
  void spread() noexcept;
  void finish(Status status) noexcept;
  void settle() noexcept;
  bool rest() noexcept;
  void record() noexcept;
  void record(uint64_t number, const CallId& call) noexcept;
  // `armed`: the domains stay as they are, and nothing is polled for.
  bool advance_collectives(bool armed = false) noexcept;
  void begin_moving() noexcept;
  bool enter_gate() noexcept;
  void poll_domains(bool network) noexcept;
  plait_request* take_request(bool persistent);
  void put_away(plait_request* request) noexcept;
  void forget_ready(const Prepared& prepared) noexcept;
  static size_t place_of(collectives::Collective collective, int32_t root, uint64_t count) noexcept {
    return (size_t(collective) * 5 + size_t(root) + size_t(count * 0x9E3779B97F4A7C15ull >> 60)) % kReady;
  }

  // messages.cc
  void start_message(plait_request* request, bool together) noexcept;
  transport::MessageLink* link_now(int32_t rank) noexcept;
  [[gnu::always_inline]] transport::MessageLink* open_link(int32_t rank) noexcept;
  bool may_receive_now(size_t bytes) const noexcept;
  bool take_landed(transport::MessageLink& link, int32_t tag, std::byte* data, size_t bytes,
                   size_t& moved) noexcept;
  bool advance_messages() noexcept;
  bool drive_messages() noexcept;
  bool connect_for_messages() noexcept;
  void fail_message() noexcept;
  void check_leavers() noexcept;
  void check_message_deadline(plait_request* waited) noexcept;
  std::string message_phase() const;
  std::string state_of_message(const Letter& letter) noexcept;
  void flush_network() noexcept;
  void idle_network() noexcept;
  bool network_drained() const noexcept;

  // watch.cc: what goes wrong, and how ranks learn of it.
  // `number`: the operation it is about, 0: the running one, kNoOperation: none, but messages.
  static constexpr uint64_t kNoOperation = ~uint64_t(0);
  void fail(Status status, int32_t culprit, uint64_t number = 0) noexcept;
  void fail_at(Status status, int32_t culprit, uint64_t number) noexcept;
  void fail_later() noexcept;
  bool shut_out() noexcept;
  bool expects_news() const noexcept;
  void listen_to_group() noexcept;
  void hear(const bootstrap::Notice& notice) noexcept;
  void check_peers() noexcept;
  void check_board(int32_t rank) noexcept;
  void show_boards() noexcept;
  // deaths.cc: ranks that are gone, and links that ended.
  void peer_died(int32_t rank) noexcept;
  void lost(int32_t rank, std::string_view why) noexcept;
  void link_ended(int32_t rank, Status status) noexcept;
  void expect_cause() noexcept;
  void fail_ended() noexcept;
  struct Ended;
  Ended* ended(int32_t r) noexcept;
  Ended* suspect() noexcept;
  Status loss_of(int32_t rank, std::string_view why) const;
  // blame.cc: who is to blame when an operation does not end.
  void check_calls() noexcept;
  void check_deadline(plait_request* waited) noexcept;
  void assign_blame() noexcept;
  bool outdated(const Suspicion& told, int64_t silent_ns) const noexcept;
  Suspicion judge(int32_t rank) noexcept;
  Status mismatch(uint64_t number) const;
  bool knows_two_calls(uint64_t number) const noexcept;
  std::string phase() const;
  std::string whom() const;
  std::string absentees(uint64_t number) const;
  int32_t culprit_of(uint64_t number) const noexcept;
  int32_t awaited(uint32_t& from) const noexcept;

  void shut_gates() noexcept;
  void wake_peers() noexcept;
  void recall_landings() noexcept;

  void begin_record(Recorder::Identity who);
  Status record_creation(Status status);
  void end_record() noexcept;
  void record_wait() noexcept;
  void record_failure(const Status& status, int32_t culprit, uint64_t number) noexcept;
  void save_record(Why why) noexcept;
  void note_rail(const transport::rails::RailEvent& event) noexcept;

  static collectives::real::Bound allocate_scratch(void* self, size_t bytes);
  static transport::RemoteRegion* import_region(void* self, int32_t rank, ByteView key);
  void expose_plain(collectives::real::Bound& bound, size_t bytes);

  const Config config_;
  Share share_;
  Waiter::Policy policy_;
  transport::shm::Arena* arena_ = nullptr;
  std::unique_ptr<bootstrap::Group> group_;  // null for a communicator of one rank
  Fabric fabric_;
  std::unique_ptr<transport::Region> probe_;  // a word of plain memory
  Local local_;
  std::vector<Way> ways_;  // by rank
  Levels levels_;
  bool crowded_hosts_ = false;  // on some host ranks share cores; alike on all ranks
  bool has_commons_ = false;    // all map each other; alike on all ranks
  std::array<const transport::Domain*, kMostAlternatives> bare_{};  // of fabric_, as they were opened
  std::vector<std::unique_ptr<Peer>> peers_;  // by rank; null until it is needed, and for this rank
  std::vector<int32_t> known_;                // ranks with a Peer ...
  std::vector<int32_t> remote_;               // ... of these, ready and not mapped
  size_t connecting_ = 0;                     // of these, not ready
  std::array<transport::Done, 32> polled_;    // poll_domains()'s: to clear it takes longer than most polls
  std::vector<collectives::real::Link> links_;
  std::map<const void*, Exposed> exposed_;  // registered plain memory, by base
  std::byte* scratch_ = nullptr;
  Bounce bounce_;
  Stand* stand_ = nullptr;  // in the arena ...
  Board* board_ = nullptr;  // ... of it
  bool fences_ = false;     // every rank takes part in base/fence.h
  bool network_ = false;    // the running operation needs the network polled

  Messages messages_;
  ShortMessages short_;
  const plait_request* waited_ =
      nullptr;  // for errors; not looked into unless it is a message that is pending

  std::shared_ptr<const Programs> programs_;  // of files; null: not read yet
  std::unique_ptr<collectives::Planner> planner_;
  std::unique_ptr<collectives::real::Machine> machine_;
  Tensors tensors_;
  uint64_t coded_calls_ = 0, plain_calls_ = 0;    // that named a codec: with it, without
  collectives::real::Machine::Encoded low_rank_;  // matrices, and the factors in their place
  std::vector<Prepared> shapes_;                  // cache of recent shapes, by hash
  const Prepared* latest_;                        // of them
  plait_request* head_ = nullptr;                 // the running one and those behind it
  plait_request* tail_ = nullptr;
  plait_request* free_ = nullptr;
  std::array<plait_request*, kReady> ready_{};  // released, not among free_: ready_for(), by hash
  const Prepared* called_ = nullptr;            // of which machine_->call() is a copy
  std::deque<plait_request> requests_;
  uint64_t calls_ = 0;
  uint64_t recorded_ = 0;  // the latest call that is on the board
  uint32_t polls_ = 0;
  uint32_t message_polls_ = 0;  // since the domains were polled for messages; 0: they are next
  uint32_t gathered_ = 0;       // messages of groups that the network is to carry
  uint32_t modest_ = 0;  // operations since one that needed more memory than lines; kModest and more: at rest
  std::deque<bootstrap::Notice> child_news_;  // of children that are being made: why others failed
  uint32_t making_ = 0;                       // the call that makes one just now: kSplitCall, kDupCall
  bool left_ = false;                         // every rank destroys its communicator
  std::optional<Deadline> words_due_;         // somebody failed and has not told why
  uint32_t strange_looks_ = 0;  // at a message of another call whose sender has not told what it called

  struct Later {
    uint64_t number = 0;  // of the operation in which others failed; 0: none
    int32_t culprit = -1;
    Status status;
    Deadline deadline;  // for the operation that this rank is in
  } later_;

  // Links that ended, or did not come about, and why their ranks left may be on its way.
  struct Ended {
    int32_t rank = -1;
    Status status;
    Deadline deadline;
    bool here = false;  // it said so since
  };
  std::vector<Ended> ended_;

  std::atomic<bool> abort_{false};
  mutable std::mutex error_mutex_;  // the two below
  Status broken_;
  std::string last_error_;
  std::atomic<bool> is_broken_{false};
  Recorder recorder_;
  RailRecord* rail_record_ = nullptr;  // of it
};

}  // namespace plait::runtime

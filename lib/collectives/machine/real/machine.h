// The real machine: runs a schedule over links. One operation at a time; step() is called until it says done,
// never blocks, allocates nothing. docs/program.md, rule 6, says what it must keep so that a proved program
// cannot hang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "collectives/machine/real/call.h"

namespace plait::collectives::real {

class Machine {
 public:
  // `links` by rank, this rank's unused. `scratch` hands out memory, best where peers map it: called by
  // prepare() and rest() only; what it gave before may be dropped when it is called again. No data: there is
  // none. Of 0 bytes: what it gave before is not needed.
  using Allocate = Bound (*)(void* context, size_t bytes);
  Machine(std::vector<Link>& links, Allocate scratch, Import import, void* context)
      : links_(links), allocate_(scratch), import_(import), context_(context) {}

  // Gives it commons (Call::common): `own` is this rank's, which all other ranks map. `crowded`, of all ranks
  // alike: they share cores.
  void share(Commons* own, bool crowded);
  // Makes room for a call; nothing may be running. Code::memory when there is none.
  Status prepare(const Call& call);
  // Is there room for it already?
  bool ready_for(const Call& call) const noexcept {
    return ready_for_shared(call) && (!wants_stage(call) || has_stage(call));
  }
  // The same if the call's buffers are in shared memory.
  bool ready_for_shared(const Call& call) const noexcept {
    return call.schedule == ready_for_ && call.codec == ready_codec_ &&
           call.layout.largest_segment_bytes() <= ready_bytes_ && call.layout.segments <= ready_segments_;
  }
  // The call to run next, to be filled in while nothing is running.
  Call& call() noexcept { return call_; }
  // Begins call(), for which there is room.
  void start() noexcept;
  // Runs what can run. True when the operation is done or failed.
  bool step() noexcept;
  // Goes on from where an exchange (exchange.h) has sent its `messages`, after start().
  void sent(uint32_t messages) noexcept { round_at_ = messages; }
  // Of an operation that just ended: keeps what the next one in these buffers needs, if it was one of a pair.
  void note_pair(CommonPair& pair, const void* in, const void* out) const noexcept;
  // Begins such a call without call(). False: it is to take the usual way.
  bool show_pair(const CommonPair& pair, uint32_t tag) noexcept;
  // Then goes through it, as long as the peer is looked for in vain fewer than `looks` times. True: it is
  // done.
  bool run_pair(const CommonPair& pair, FoldKernel fold, const Operator* op, uint32_t looks) noexcept;
  // Else, with call() filled in: step() goes on with it.
  void resume_pair() noexcept;
  // Did the last step() move anything?
  bool moved() const noexcept { return moved_; }
  const Status& status() const noexcept { return status_; }

  // Did an operation since the last call of this need memory beyond lines: parts, scratch, room for gets,
  // streams of further segments?
  bool was_roomy() noexcept { return std::exchange(roomy_, false); }
  // What this rank encoded, over all calls: bytes of values, and of the wires they became.
  struct Encoded {
    uint64_t values = 0, wires = 0;
  };
  const Encoded& encoded() const noexcept { return encoded_; }

  // Gives back what such operations left. Nothing may be running.
  void rest() noexcept;

  // Gets that this machine posted come back with these cookies; hand their Dones to pulled(). While pulling()
  // the domain must be polled between steps.
  static constexpr uint64_t kPullCookie = uint64_t(1) << 32;
  bool pulling() const noexcept { return pulls_ > 0; }
  void pulled(const transport::Done& done) noexcept;

  // Who is waited for and for what: "rank 2 (recv chunk 3+1 ...)", for errors. Allocates.
  std::string waiting_for() const;
  // Is each of them, as far as is known, on another core than this rank? Then it gains nothing by giving way.
  bool awaits_others_cores() noexcept;
  // Operations that were, or were to be, on the commons so far.
  uint32_t on_commons() const noexcept { return common_.sequence; }
  // How many ranks were on the core that this one was on when they last came to the commons; 0: not known.
  int32_t ranks_on_core() const noexcept;
  // One of them after the other, some perhaps twice: `from` is 0 at first. -1: no more.
  int32_t awaited(uint32_t& from) const noexcept;
  // Does the next message of a peer that is waited for belong to another call? Then *rank is that peer.
  bool sees_other_call(int32_t* rank) const noexcept;

 private:
  enum class Turn : uint8_t { blocked, moved, done };
  // drained: all is published; what the transport still reads must stay as it is.
  enum class Phase : uint8_t { fresh, running, acknowledged, drained };

  struct Run {             // of an action in a window
    uint64_t cursor = 0;   // bytes done
    uint64_t fused = 0;    // bit k: its k-th fused send is served in this pass ...
    uint64_t placed = 0;   // ... and stored straight into the peer's output
    uint64_t sourced = 0;  // ... or read by the transport where the result is stored
    uint32_t landed = 0;   // sources that have landed whole
    uint32_t awaited = 0;  // sequence whose acknowledgement a send awaits
    uint32_t told = 0;     // of a wire that is received: how long it is, in bytes of its message
    Phase phase = Phase::fresh;
  };
  enum class Form : uint8_t { whole, lines, mapped, placed, parts, pulled };
  struct Arrival {  // of a source in a window
    const std::byte* data = nullptr;
    uint64_t available = 0;
    Form form = Form::whole;
    uint32_t lines = 0;
    bool got = false;  // pulled: the get is done
    bool posted = false;
    bool awaited = false;         // await_parts() was called
    std::byte* gather = nullptr;  // where a message of several lines is put together
  };
  struct Window {
    uint32_t segment = 0;
    uint32_t left = 0;    // actions not done
    size_t gathered = 0;  // bytes of gather_ in use
  };
  struct Enabled {  // an action that waits for no other: tried at each step()
    uint32_t w = 0, action = 0;
    friend bool operator==(Enabled, Enabled) = default;
  };
  struct Ordinals {  // of a link and stream: messages begun in this segment
    uint32_t sent = 0, received = 0;
  };

  using Common = CommonWork;
  bool takes_commons() noexcept;
  void start_common() noexcept;
  CommonOffer own_offer() noexcept;
  bool spreads() const noexcept { return call_.common_root != kLocal; }
  bool is_root() const noexcept { return call_.schedule->program.rank == call_.common_root; }
  bool shares_buffers() const noexcept;
  void spread_common(size_t from, size_t bytes) noexcept;
  bool step_common() noexcept;
  bool end_common() noexcept;
  void wake_all() noexcept;
  void note_core() noexcept;
  const Link& pair_peer() const noexcept { return links_[links_[0].endpoint != nullptr ? 0 : 1]; }
  const transport::Line& common_line(int32_t rank) const noexcept;
  int32_t common_peer(uint32_t distance) const noexcept;
  bool see_all() noexcept;
  Commons& first_commons() const noexcept;
  bool all_came() noexcept;
  void find_for_all() noexcept;
  void take_found() noexcept;
  void fold_values(std::byte* output) noexcept;
  bool take_offers() noexcept;
  void fold_common(size_t from, size_t bytes) noexcept;
  void turn_round() noexcept;
  bool fold_share() noexcept;
  Commons::Turn& common_turn() const noexcept {
    return first_commons().turn[common_.sequence % kCommonTurns];
  }
  std::pair<size_t, size_t> common_share(size_t rank) const noexcept;
  uint32_t common_pieces(size_t rank) const noexcept;
  bool fold_pieces() noexcept;
  bool all_is_made() noexcept;
  bool common_awaits(int32_t peer) const noexcept;
  int32_t common_awaited(uint32_t& from) const noexcept;
  std::string common_waiting_for() const;
  bool common_sees_other_call(int32_t* rank) const noexcept;

  bool has_stage(const Call& call) const noexcept;
  bool wants_stage(const Call& call) const noexcept;
  void start_staged() noexcept;
  bool step_staged() noexcept;
  bool all_staged(std::atomic<uint32_t> Commons::*count, uint32_t mine, uint32_t& seen) noexcept;
  bool may_fold_staged() noexcept;
  std::pair<size_t, size_t> share_of(size_t rank, size_t bytes) const noexcept;
  size_t staged_at(uint32_t piece) const noexcept;
  size_t staged_bytes(uint32_t piece) const noexcept;
  void fill_stage(uint32_t piece) noexcept;
  void empty_stage(uint32_t piece) noexcept;
  void fold_staged(uint32_t piece) noexcept;
  bool staged_awaits(int32_t peer) const noexcept;

  int32_t peer_awaited(const Enabled& e) const noexcept;
  void start_program() noexcept;
  bool take_program() noexcept;
  void start_actions() noexcept;
  bool step_actions() noexcept;
  void recall() noexcept;
  void start_round() noexcept;
  bool step_round() noexcept;
  Here here(Place place) const noexcept;
  static std::byte* at(const Here& here) noexcept { return here.buffer->data + here.offset; }
  bool maps_round() const noexcept;
  bool may_map(const Action& a, size_t bytes) const noexcept;
  bool make_volley(bool mapped) noexcept;
  void make_exchange() noexcept;
  bool find_spot(const Here& here, Exchange::Spot& spot) const noexcept;
  bool keeps(Exchange& x, const Volley::Fold& f, std::span<const Volley::Operand> operands) const noexcept;
  bool awaits(Exchange& x, const Volley::Fold& f, std::span<const Volley::Operand> operands) const noexcept;
  void start_volley() noexcept;
  bool step_volley() noexcept;
  bool volley_waits(const Action* of, uint32_t before) noexcept;
  bool send_line(const Volley::Send& send) noexcept;
  bool all_landed(const Volley::Fold& f) noexcept;
  void fold_volley(Volley::Fold& f) noexcept;
  collectives::Fold work_of(const Action& a, size_t bytes) const noexcept;
  void fold_inputs(Volley::Fold& f, const std::byte* const* inputs, std::byte* to) const noexcept {
    f.work.inputs = inputs;
    f.work.outputs = &to;
    f.work.op = &call_.op;
    call_.fold(f.work);
  }
  bool lies_mapped() const noexcept;
  bool step_mapped() noexcept;
  bool tell_place(Volley::Send& send) noexcept;
  bool send_parts(Volley::Send& send, Link& link) noexcept;
  void copy_own() noexcept;
  bool find_places(const Volley::Fold& f) noexcept;
  bool find_place(Volley::Operand& operand, size_t bytes) noexcept;
  bool fold_mapped(Volley::Fold& f) noexcept;
  bool next_parts(std::span<const Volley::Operand> operands) noexcept;
  void fold_bytes(Volley::Fold& f, std::span<const Volley::Operand> operands, uint32_t bytes) noexcept;
  void leave_operand(const Volley::Operand& operand) noexcept;
  void leave_volley() noexcept;
  bool fold_lines(const Action& a, Run& r, size_t bytes) noexcept;
  void begin_segment(uint32_t w, uint32_t segment) noexcept;
  void complete(uint32_t w, uint32_t action) noexcept;
  Turn run(uint32_t w, uint32_t action) noexcept;

  // Does a message go into its stream whatever else could be done?
  bool copied(size_t bytes) const noexcept { return call_.buffered || bytes <= call_.eager_bytes; }
  // Is it told where it lies, and stays there until the receiver has taken it?
  bool stays(const Link& link, const Bound& buffer, size_t bytes) const noexcept {
    return buffer.shared && link.shared != nullptr && !copied(bytes);
  }
  Turn run_send(uint32_t w, uint32_t action) noexcept;
  void look_for_credit(Link& link, uint32_t stream) noexcept;
  Turn send_lines(uint32_t w, const Action& a, const std::byte* data, size_t bytes) noexcept;
  bool put_lines(transport::Mailbox& mailbox, uint32_t stream, const std::byte* data, size_t bytes) noexcept;
  Turn send_uneven(uint32_t w, const Action& a, const std::byte* data, size_t bytes) noexcept;
  Turn send_joined(uint32_t w, const Action& a, size_t bytes) noexcept;
  void gather_pieces(uint32_t w, const Action& a, std::byte* to) const noexcept;
  void scatter_pieces(uint32_t w, const Action& a, const std::byte* message) noexcept;
  bool fits_program() noexcept;
  Turn send_mapped(uint32_t w, const Action& a, Run& r, const Bound& from, size_t offset) noexcept;
  Turn send_pull(uint32_t w, const Action& a, Run& r, const Bound& from, size_t offset) noexcept;
  void fill_part(uint32_t w, const Action& a, const Run& r, std::byte* part, const std::byte* from,
                 size_t bytes) noexcept;
  Turn send_parts(uint32_t w, const Action& a, Run& r, const std::byte* data, size_t bytes) noexcept;

  Turn run_codec(uint32_t w, uint32_t action) noexcept;
  void encode(uint32_t w, const Action& a, size_t elements) noexcept;
  bool decode(uint32_t w, const Action& a, Place wire, size_t elements, bool add, std::byte* to) noexcept;
  void decode_reduce(uint32_t w, const Action& a, size_t elements) noexcept;
  size_t wire_bytes(const Action& a, uint32_t w) const noexcept;
  bool hear_length(uint32_t w, const Action& a, Run& r) noexcept;
  uint64_t first_element(const Action& a, uint32_t w) const noexcept;
  std::byte* local(Place p, uint32_t w) const noexcept { return bound(p.in()).data + offset_of(p, w); }

  Turn run_fold(uint32_t w, uint32_t action) noexcept;
  bool land(uint32_t w, const Action& a, const Source& s, Arrival& arrival, uint64_t cursor,
            size_t bytes) noexcept;
  bool land_lines(const Link& link, uint32_t stream, uint32_t w, Arrival& arrival, size_t bytes) noexcept;
  bool land_uneven(uint32_t w, const Action& a, const Source& s, Arrival& arrival, size_t bytes,
                   bool* landed) noexcept;
  bool land_descriptor(Link& link, uint32_t stream, const Action& a, uint32_t w, Arrival& arrival,
                       uint64_t cursor, size_t bytes) noexcept;
  void await_parts(Link& link, uint32_t stream, const Action& a, uint32_t w, size_t bytes) noexcept;
  bool pull(Link& link, uint32_t stream, const Action& a, uint32_t w, Arrival& arrival, uint64_t offset,
            size_t bytes) noexcept;
  bool may_place(uint32_t w, const Action& send, const Link& link, size_t bytes) const noexcept;
  void choose_fused(uint32_t w, const Action& a, Run& r, size_t bytes) noexcept;
  Turn fold_pieces(uint32_t w, const Action& a, Run& r, size_t bytes) noexcept;
  void fold_piece(uint32_t w, const Action& a, const Run& r, uint64_t from, size_t bytes) noexcept;
  bool copies_past_cache(const Action& a, const Run& r) const noexcept;
  void end_piece(uint32_t w, const Action& a, const Run& r, size_t bytes) noexcept;
  void post_fused(uint32_t w, const Action& a, const Run& r, bool last) noexcept;
  void end_fold(uint32_t w, const Action& a, const Run& r) noexcept;
  void release(uint32_t w, const Source& s, const Arrival& arrival) noexcept;
  void announce(uint32_t w, const Action& send, uint32_t kind, uint64_t offset) noexcept;
  void fill_descriptor(const Action& send, uint32_t stream, uint32_t kind, uint64_t offset) noexcept;

  const Bound& bound(Buffer buffer) const noexcept {
    return buffer == Buffer::input ? call_.input : buffer == Buffer::output ? call_.output : scratch_;
  }
  size_t offset_of(Place p, uint32_t w) const noexcept;
  size_t bytes_of(const Action& a, uint32_t w) const noexcept {
    if (a.pieces > 0) [[unlikely]]
      return joined_bytes(a);
    if (a.wired) [[unlikely]]
      return wire_bytes(a, w);
    return call_.layout.bytes(a.sized_by, a.chunk, a.count, window_[w].segment);
  }
  size_t joined_bytes(const Action& a) const noexcept;
  // Uneven layouts: does the message not exist, being beyond the end of its chunk? Both ends know.
  bool is_beyond(uint32_t w, size_t bytes) const noexcept {
    return call_.layout.uneven && bytes == 0 && window_[w].segment > 0;
  }
  // All of its segments together.
  uint64_t length_of(const Action& a) const noexcept {
    return call_.layout.length(a.sized_by, a.chunk, a.count) * call_.layout.element_bytes;
  }
  bool check_length(const Action& a, int32_t peer, uint64_t told) noexcept;
  bool check_lengths() noexcept;
  uint32_t stream_of(uint16_t lane, uint32_t w) const noexcept { return lane * windows_ + w; }
  Ordinals& ordinals(int32_t peer, uint32_t stream) noexcept {
    return ordinals_[size_t(peer) * transport::kStreams + stream];
  }
  Run& run_of(uint32_t w, uint32_t action) noexcept { return runs_[w * actions_ + action]; }
  Arrival* arrivals_of(uint32_t w, const Action& a) noexcept {
    return &arrivals_[w * call_.schedule->sources.size() + a.first_source];
  }
  void fail(Code code, std::string text) noexcept;

  std::vector<Link>& links_;
  Allocate allocate_;
  Import import_;
  void* context_;

  Call call_;
  Status status_;
  uint32_t windows_ = 1, actions_ = 0;
  uint32_t segments_left_ = 0;
  bool moved_ = false;
  Common common_;
  bool round_ = false;             // the call runs as one round ...
  uint32_t round_at_ = 0;          // ... and this is next in Schedule::round, or in the volley ...
  bool is_volley_ = false;         // ... that it is ...
  bool is_mapped_volley_ = false;  // ... of lines, or mapped
  uint32_t volley_landed_ = 0;     // operands of the fold that is awaited which have landed
  Bound scratch_;
  const Schedule* ready_for_ = nullptr;  // what prepare() was last called for ...
  size_t ready_bytes_ = 0;               // ... the largest segment it made room for ...
  uint32_t ready_segments_ = 0;          // ... and the most segments
  const codec::Codec* ready_codec_ = nullptr;
  size_t scratch_room_ = 0, scratch_slot_ = 0;
  size_t wires_at_ = 0, wire_slot_ = 0;  // wires lie behind scratch
  Mapping work_;                         // the codec's ...
  size_t spare_ = 0;                     // ... and behind it, here, room for a segment of values
  std::vector<Window> window_;
  std::vector<Run> runs_;
  std::vector<uint32_t> waits_;
  std::vector<Arrival> arrivals_;
  std::vector<Ordinals> ordinals_;
  std::vector<Enabled> active_;
  uint32_t active_count_ = 0;
  uint32_t pulls_ = 0;  // gets under way
  // Address space for the worst case; memory for what is used of it, until rest().
  Mapping bounce_;  // where gets go to be folded: a segment for each source and window
  Mapping gather_;  // for those of several lines: kGatherBytes a source and window, used from the front
  bool roomy_ = false;
  Encoded encoded_;
};

}  // namespace plait::collectives::real

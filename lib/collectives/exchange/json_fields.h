// What a JSON program set consists of: objects and arrays, each in one place only, so that a number says
// where a reader is; and the fields of the objects.
#pragma once

#include <cstdint>
#include <string_view>

#include "collectives/program.h"

namespace plait::collectives::exchange {

// Each stands in the one before it.
enum class Level : uint8_t { outside, set, variants, variant, programs, program, steps, step, flags };

enum class Field : uint8_t {
  version,
  name,
  collective,
  ranks,
  root,
  chunks,
  variants,
  in_place,
  min_credits,
  rank_order,
  programs,
  rank,
  scratch,
  steps,
  op,
  peer,
  lane,
  chunk,
  count,
  src,
  src2,
  dst,
  flags,
};
constexpr uint32_t bit(Field field) noexcept { return 1u << uint32_t(field); }

enum class Kind : uint8_t { number, boolean, text, array };

struct FieldInfo {
  Field field;
  Level level;  // of the object that it belongs to
  Kind kind;
  std::string_view name;
};

constexpr FieldInfo kFields[] = {
    {Field::version, Level::set, Kind::number, "plait_program"},
    {Field::name, Level::set, Kind::text, "name"},
    {Field::collective, Level::set, Kind::text, "collective"},
    {Field::ranks, Level::set, Kind::number, "ranks"},
    {Field::root, Level::set, Kind::number, "root"},
    {Field::chunks, Level::set, Kind::number, "chunks"},
    {Field::variants, Level::set, Kind::array, "variants"},
    {Field::in_place, Level::variant, Kind::boolean, "in_place"},
    {Field::min_credits, Level::variant, Kind::number, "min_credits"},
    {Field::rank_order, Level::variant, Kind::boolean, "rank_order"},
    {Field::programs, Level::variant, Kind::array, "programs"},
    {Field::rank, Level::program, Kind::number, "rank"},
    {Field::scratch, Level::program, Kind::number, "scratch"},
    {Field::steps, Level::program, Kind::array, "steps"},
    {Field::op, Level::step, Kind::text, "op"},
    {Field::peer, Level::step, Kind::number, "peer"},
    {Field::lane, Level::step, Kind::number, "lane"},
    {Field::chunk, Level::step, Kind::number, "chunk"},
    {Field::count, Level::step, Kind::number, "count"},
    {Field::src, Level::step, Kind::text, "src"},
    {Field::src2, Level::step, Kind::text, "src2"},
    {Field::dst, Level::step, Kind::text, "dst"},
    {Field::flags, Level::step, Kind::array, "flags"},
};

constexpr std::string_view name_of(Field field) noexcept { return kFields[uint32_t(field)].name; }

// What a step of this kind has beside op, chunk and count; nothing else but flags.
constexpr uint32_t fields_of(Op op) noexcept {
  constexpr uint32_t all = bit(Field::op) | bit(Field::chunk) | bit(Field::count);
  constexpr uint32_t message = all | bit(Field::peer) | bit(Field::lane);
  switch (op) {
    case Op::send:
      return message | bit(Field::src);
    case Op::recv:
      return message | bit(Field::dst);
    case Op::recv_reduce:
      return message | bit(Field::src) | bit(Field::dst);
    case Op::copy:
      return all | bit(Field::src) | bit(Field::dst);
    case Op::reduce:
      return all | bit(Field::src) | bit(Field::src2) | bit(Field::dst);
    default:
      return 0;  // steps with codecs are reserved
  }
}

}  // namespace plait::collectives::exchange

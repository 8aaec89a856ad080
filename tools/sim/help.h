// What plait-sim --help prints.
#pragma once

namespace plait::simtool {

inline constexpr const char* kHelp =
    R"(plait-sim: how long a collective takes in a room that nobody has built.

Usage: plait-sim COLLECTIVE --room ROOM --size BYTES (-A WAY... | --all)
       plait-sim --calibrate ROWS... --room ROOM [--write NAME]

  --room ROOM        a file of docs/topology.md's text, or the text, ';' for
                     line ends: 'mesh 32x32 400Gb/s 1us', 'hybrid cube mesh',
                     '64 hosts x 8 chips x 8 nics; leaf of 16 hosts, 8 spines';
                     or 'ideal 8': no links, ports alone cost
  --size BYTES       of the vector: 64K, 256M, 1G (default 1M)
  -A, --algorithm W  ring, swing, ...; over levels ring/direct, inner first;
                     ring@links: the ring along a ring of links
  --all              every algorithm and hierarchy that fits, in a table
  --patience S       give up a way after S seconds (with --all 10; 0: never)
  -n, --ranks N      on the first N places (default: all that are free)
  --chips LIST       rank 0, 1, .. on these: 0,1,5,4, or a file, or -, of
                     what plait-topo place prints
  --root R           where the collective has one (default 0)
  --what-if WORDS    'cut link 3-4', 'cut link 3-4 at 2ms', 'slow host 2 by 3',
                     'slow link 3-4 to 25%', 'kill rank 5 at 1ms'; repeatable
  --parameters FILE  of endpoints, JSON (docs/sim.md); --seed N, --jitter F,
                     --credits N and --segment BYTES change one of them
  --json F, --trace F, --svg F   the result; for ui.perfetto.dev; a picture
  --calibrate ROWS   files of plait-perf --json: finds what links and ends cost
                     from half of the sizes, and foretells the others
  --write NAME       that as NAME.room, NAME.json for --room, --parameters
  --compare ROWS     says how far off simulations are, and fits nothing
  -h, --help, --version

Examples:
  plait-sim allreduce --room 'mesh 32x32' --size 256M -A ring
  plait-sim allreduce --room '4 hosts x 8 chips x 1 nics' --size 64M --all
  plait-sim allreduce --room 'ring 8' -A ring --what-if 'kill rank 3 at 10us'
  plait-sim --calibrate rows.json --room '2 hosts x 1 nics' --write lab
)";

}  // namespace plait::simtool

// How a page looks: light or dark as the reader has it. The colours by Okabe and Ito (2008) differ for people with any
// kind of colour vision. Every chart has its meaning in numbers or places, too.
#pragma once

#include <string_view>

namespace manymeans::report {

inline constexpr std::string_view kPageStyle = R"(.manymeans {
  --bg: #fff; --fg: #1b1f24; --muted: #57606a; --line: #d5d9de; --soft: #f3f5f7;
  --k0: #0072b2; --k1: #d55e00; --k2: #009e73; --k3: #cc79a7; --k4: #e69f00; --k5: #56b4e9; --k6: #b8a800; --k7: #7f7f7f;
  background: var(--bg); color: var(--fg); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
}
@media (prefers-color-scheme: dark) {
  .manymeans {
    --bg: #14171b; --fg: #e8eaed; --muted: #a4adb8; --line: #363c44; --soft: #1f242a;
    --k0: #3b9bd9; --k1: #f07c2c; --k2: #1fbf92; --k6: #f0e442; --k7: #9a9a9a;
  }
}
html:has(body > .manymeans) { background: #fff; }
@media (prefers-color-scheme: dark) { html:has(body > .manymeans) { background: #14171b; } }
body:has(> .manymeans) { margin: 0; }
.manymeans main { max-width: 1080px; margin: 0 auto; padding: 20px 16px 40px; }
.manymeans h1 { font-size: 24px; line-height: 1.25; margin: 8px 0; }
.manymeans h2 { font-size: 18px; margin: 34px 0 4px; padding-top: 12px; border-top: 1px solid var(--line); }
.manymeans p { margin: 4px 0 10px; max-width: 75ch; }
.manymeans section > p, .manymeans figcaption, .manymeans .note { color: var(--muted); font-size: 14px; }
.manymeans code { font-size: 13px; }
.manymeans .warn { border-left: 4px solid var(--k1); background: var(--soft); padding: 8px 14px; margin: 12px 0; }
.manymeans .warn ul { margin: 4px 0; padding-left: 20px; }
.manymeans .scroll { overflow-x: auto; max-width: 100%; }
.manymeans .answer { list-style: none; margin: 12px 0; padding: 0; }
.manymeans .answer li { margin: 6px 0; padding-left: 24px; text-indent: -24px; max-width: 90ch; }
.manymeans .key { display: inline-block; vertical-align: -2px; margin-right: 4px; }
.manymeans .cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 330px), 1fr)); gap: 12px; }
.manymeans article { border: 1px solid var(--line); border-radius: 6px; padding: 8px 10px; min-width: 0; }
.manymeans article h3 { font-size: 15px; margin: 0; }
.manymeans article p { margin: 0; font-size: 13px; }
.manymeans article table { width: 100%; font-size: 12px; }
.manymeans article :is(th, td) { padding: 2px 0 2px 6px; }
.manymeans article .l { padding-left: 0; white-space: normal; }
.manymeans article td:last-child { white-space: normal; }
.manymeans .fit svg { width: 100%; height: auto; max-width: 500px; }
.manymeans .fit.large svg { max-width: 720px; }
.manymeans .grid { display: flex; flex-wrap: wrap; gap: 12px; overflow-x: auto; align-items: flex-start; }
.manymeans figure { margin: 0; max-width: 100%; }
.manymeans figcaption { max-width: 330px; padding-left: 8px; }
.manymeans svg { display: block; max-width: 100%; }
.manymeans svg text { font: 10px system-ui, sans-serif; fill: var(--fg); }
.manymeans svg .m { fill: var(--muted); }
.manymeans svg .t { font-size: 11px; font-weight: 600; }
.manymeans svg .b { font-weight: 600; font-size: 10px; paint-order: stroke; stroke: var(--bg); stroke-width: 2.5px; }
.manymeans svg .g { stroke: var(--line); }
.manymeans svg .a { stroke: var(--muted); fill: none; }
.manymeans svg .o { stroke: var(--fg); stroke-width: .7; fill-opacity: .8; }
.manymeans svg .c { fill: none; stroke-width: 1.7; }
.manymeans svg .r { fill: none; stroke-width: .8; stroke-opacity: .25; }
.manymeans svg .band { fill: var(--k0); fill-opacity: .2; }
.manymeans svg .flow { fill: none; stroke: var(--muted); stroke-opacity: .45; }
.manymeans svg .chosen { stroke: var(--fg); stroke-dasharray: 4 4; }
.manymeans svg .pos { fill: var(--k1); stroke: var(--line); stroke-width: .5; }
.manymeans svg .neg { fill: var(--k0); stroke: var(--line); stroke-width: .5; }
.manymeans .k0 { fill: var(--k0); } .manymeans .k0l { stroke: var(--k0); }
.manymeans .k1 { fill: var(--k1); } .manymeans .k1l { stroke: var(--k1); }
.manymeans .k2 { fill: var(--k2); } .manymeans .k2l { stroke: var(--k2); }
.manymeans .k3 { fill: var(--k3); } .manymeans .k3l { stroke: var(--k3); }
.manymeans .k4 { fill: var(--k4); } .manymeans .k4l { stroke: var(--k4); }
.manymeans .k5 { fill: var(--k5); } .manymeans .k5l { stroke: var(--k5); }
.manymeans .k6 { fill: var(--k6); } .manymeans .k6l { stroke: var(--k6); }
.manymeans .k7 { fill: var(--k7); } .manymeans .k7l { stroke: var(--k7); }
.manymeans table { border-collapse: collapse; font-size: 13px; margin: 8px 0; }
.manymeans th, .manymeans td { text-align: right; padding: 3px 7px; border-bottom: 1px solid var(--line); white-space: nowrap; }
.manymeans th { color: var(--muted); font-weight: 600; white-space: normal; vertical-align: bottom; overflow-wrap: normal; }
.manymeans .l { text-align: left; }
.manymeans summary { cursor: pointer; color: var(--muted); font-size: 14px; }
.manymeans main > details { margin-top: 34px; padding-top: 12px; border-top: 1px solid var(--line); }
@media (min-width: 900px) { .manymeans .grid svg { zoom: 1.25; } }
@media print { .manymeans .scroll, .manymeans .grid { overflow: visible; } }
)";

}  // namespace manymeans::report

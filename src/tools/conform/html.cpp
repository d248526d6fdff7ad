#include "tools/conform/html.h"

#include "base/text/markup.h"

namespace vg::tools {
namespace {

constexpr char kHead[] = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Conformance</title><style>
:root { --back: #fbfcfb; --card: #fff; --text: #1c2421; --soft: #66726d; --line: #dfe6e2; --pass: #2f8f6b; --differ: #c7432f;
  --none: #c9d1cd; --mark: #fdf0ed; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --back: #131817; --card: #1a211f; --text: #e3e9e6; --soft: #93a19b;
  --line: #2c3633; --pass: #4db88f; --differ: #ef7a66; --none: #47534e; --mark: #2e1d1a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.2rem 4rem; max-width: 76rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { margin: 0 0 1rem; font-size: 1.5rem; }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(15rem, 1fr)); gap: .8rem; }
.side { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .7rem 1rem; }
.side b { display: block; font-size: 1.05rem; } .side span, .key, .hint { color: var(--soft); font-size: .87rem; }
.bar { display: flex; height: .7rem; border-radius: .35rem; overflow: hidden; background: var(--none); min-width: 6rem; }
.bar i { display: block; } .pass-fill { background: var(--pass); } .differ-fill { background: var(--differ); }
.total { margin: 1.2rem 0 .4rem; } .total .bar { height: 1.1rem; }
.tools { display: flex; gap: 1rem; align-items: center; margin: 1rem 0; flex-wrap: wrap; }
input[type=search] { font: inherit; padding: .3rem .6rem; border: 1px solid var(--line); border-radius: .4rem;
  background: var(--card); color: inherit; min-width: 16rem; }
details { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; margin: .35rem 0; }
summary { display: grid; grid-template-columns: minmax(10rem, 1fr) 12rem 11rem; gap: 1rem; align-items: center;
  padding: .45rem .9rem; cursor: pointer; list-style: none; }
summary .counts { text-align: right; color: var(--soft); font-size: .87rem; font-variant-numeric: tabular-nums; }
summary .counts em { color: var(--differ); font-style: normal; font-weight: 600; }
code, .name { font-family: ui-monospace, monospace; font-size: .9em; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
td, th { border-top: 1px solid var(--line); padding: .4rem .9rem; text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 500; } td.id { white-space: nowrap; } tr.differ { background: var(--mark); }
td.id::before { content: ""; display: inline-block; width: .6rem; height: .6rem; border-radius: 50%; margin-right: .5rem;
  background: var(--none); }
tr.pass td.id::before { background: var(--pass); } tr.differ td.id::before { background: var(--differ); }
.r { white-space: nowrap; } .r.pass { color: var(--pass); } .r.fail, .r.crash { color: var(--differ); font-weight: 600; }
.note { color: var(--soft); margin-top: .2rem; } .why { color: var(--differ); overflow-wrap: anywhere; }
.only-differ tr.pass, .only-differ tr.none, .only-differ details.clean { display: none; }
</style></head><body>
)";

constexpr char kScript[] = R"(<script>
const search = document.querySelector('input[type=search]'), only = document.querySelector('#only');
function show() {
  document.body.classList.toggle('only-differ', only.checked);
  const words = search.value.toLowerCase();
  for (const group of document.querySelectorAll('details')) {
    let any = false;
    for (const row of group.querySelectorAll('tbody tr')) {
      const hit = !words || (group.dataset.name + ' ' + row.textContent).toLowerCase().includes(words);
      row.hidden = !hit; any = any || hit;
    }
    group.hidden = !any;
    if (words) group.open = any;
  }
}
search.addEventListener('input', show); only.addEventListener('change', show);
</script></body></html>
)";

std::string number(size_t value) { return std::to_string(value); }

std::string bar(size_t pass, size_t differ, size_t all) {
  const auto part = [&](const char* style, size_t count) {
    if (!count) return std::string();
    return "<i class=\"" + std::string(style) +
           "\" style=\"width:" + std::to_string(100.0 * double(count) / double(all)) + "%\"></i>";
  };
  return "<div class=\"bar\" role=\"img\" aria-label=\"" + number(pass) + " of " + number(all) + " pass, " +
         number(differ) + " differ\">" + part("pass-fill", pass) + part("differ-fill", differ) + "</div>";
}

std::string side(const char* role, const ConformRecord& record) {
  size_t passed = 0, bad = 0;
  for (const TestResult& test : record.tests) {
    passed += test.result == "pass";
    bad += test.bad();
  }
  return "<div class=\"side\"><span>" + std::string(role) + "</span><b>" + escapedForMarkup(record.device) +
         "</b><span>driver " + escapedForMarkup(record.driver) + " &middot; " + number(passed) + " tests passed, " +
         number(bad) + " failed, " + number(record.tests.size() - passed - bad) + " skipped</span></div>";
}

std::string result(const TestResult* test) {
  if (!test) return "<span class=\"r\">&ndash;</span>";
  return "<span class=\"r " + test->result + "\">" + test->result + "</span>";
}

std::string rule(const RuleReport& report, bool compares) {
  const char* const style = report.state == RuleState::Pass      ? "pass"
                            : report.state == RuleState::Differs ? "differ"
                                                                 : "none";
  std::string tests, here, there, why;
  for (const Evidence& evidence : report.evidence) {
    const TestResult& test = evidence.here ? *evidence.here : *evidence.there;
    tests += "<div class=\"name\">" + escapedForMarkup(test.name) + "</div>";
    here += "<div>" + result(evidence.here) + "</div>";
    there += "<div>" + result(evidence.there) + "</div>";
    if (evidence.differs() && evidence.here && why.empty()) why = evidence.here->detail;
  }
  std::string text = escapedForMarkup(report.rule.text);
  if (!report.driverInstead.empty())
    text +=
        "<div class=\"note\">The driver differs from the manual: " + escapedForMarkup(report.driverInstead) + "</div>";
  if (!why.empty()) text += "<div class=\"why\">" + escapedForMarkup(why) + "</div>";
  return "<tr class=\"" + std::string(style) + "\"><td class=\"id\"><code>" + escapedForMarkup(report.rule.id) +
         "</code></td><td>" + text + "</td><td>" + (tests.empty() ? "not tested" : tests) + "</td><td>" + here +
         "</td>" + (compares ? "<td>" + there + "</td>" : "") + "</tr>\n";
}

std::string function(const FunctionReport& report, bool compares) {
  const size_t all = report.rules.size(), pass = report.count(RuleState::Pass),
               differ = report.count(RuleState::Differs);
  std::string text = "<details data-name=\"" + escapedForMarkup(report.name) + "\"" +
                     (differ ? " open" : " class=\"clean\"") + "><summary><span class=\"name\">" +
                     escapedForMarkup(report.name) + "</span>" + bar(pass, differ, all) + "<span class=\"counts\">" +
                     number(pass) + " of " + number(all) +
                     (differ ? " &middot; <em>" + number(differ) + " differ</em>" : "") + "</span></summary>" +
                     "<div class=\"scroll\"><table><thead><tr><th>rule</th><th>what it says</th><th>tests</th>" +
                     "<th>here</th>" + (compares ? "<th>record</th>" : "") + "</tr></thead><tbody>\n";
  for (const RuleReport& one : report.rules) text += rule(one, compares);
  return text + "</tbody></table></div></details>\n";
}

}  // namespace

std::string htmlOf(const ConformReport& report) {
  const size_t pass = report.count(RuleState::Pass), differ = report.count(RuleState::Differs),
               untested = report.count(RuleState::NotTested), all = pass + differ + untested;
  std::string page = kHead;
  page += "<h1>Conformance to the CUDA driver's memory module</h1><div class=\"sides\">" +
          side("this library", report.here) +
          (report.compares ? side("compared with the record of", report.there) : "") + "</div>\n<div class=\"total\">" +
          bar(pass, differ, all) + "</div><div class=\"key\">" + number(pass) + " rules pass, " + number(differ) +
          " differ, " + number(untested) + " not tested, of " + number(all) +
          "</div>\n<div class=\"tools\"><input type=\"search\" placeholder=\"function, rule or words\" " +
          "aria-label=\"search\"><label><input type=\"checkbox\" id=\"only\"> only what differs</label></div>\n";
  for (const FunctionReport& one : report.functions) page += function(one, report.compares);
  return page + kScript;
}

}  // namespace vg::tools

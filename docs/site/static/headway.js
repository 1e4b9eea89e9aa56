// The frames of the explorer follow the light or dark choice of the page.
const frames = () => document.querySelectorAll(".explorer iframe");

function follow() {
  const chosen = document.body.dataset.theme;
  const theme = chosen === "light" || chosen === "dark" ? chosen : "";
  for (const frame of frames()) {
    const [page, hash = ""] = frame.src.split(/#(.*)/s);
    const [path, query = ""] = hash.split(/\?(.*)/s);
    const values = new URLSearchParams(query);
    if ((values.get("theme") ?? "") === theme) continue;
    if (theme) values.set("theme", theme);
    else values.delete("theme");
    frame.src = `${page}#${path}?${values}`;
  }
}

new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-theme"] });
follow();

// What scrolls sideways can be reached with the keyboard.
function letKeysScroll() {
  for (const box of document.querySelectorAll("article pre, article .table-wrapper, .formula")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

addEventListener("resize", letKeysScroll);
letKeysScroll();

// A page from a disk must not read the pages that a search has found, so it shows titles alone.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

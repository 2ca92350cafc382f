// Follows a run that is under way. The server sends the state as the page has it.
const state = document.getElementById("state");
if (state?.dataset.events) {
  const connection = document.getElementById("connection");
  const say = (text, lost) => { connection.textContent = text; connection.classList.toggle("caution", lost); };
  const events = new EventSource(state.dataset.events);
  events.addEventListener("open", () => say("This page follows the run.", false));
  events.addEventListener("state", (e) => {
    const focused = state.contains(document.activeElement) ? document.activeElement.getAttribute("href") ?? document.activeElement.getAttribute("aria-label") : null;
    state.innerHTML = e.data;
    if (focused) {
      for (const other of state.querySelectorAll("a, [tabindex]")) {
        if ((other.getAttribute("href") ?? other.getAttribute("aria-label")) === focused) { other.focus({ preventScroll: true }); break; }
      }
    }
  });
  events.addEventListener("end", () => { events.close(); say("The run has stopped.", false); });
  // A browser does not try again after an answer that is no stream: the run is gone, the
  // token has changed, or too many browsers follow runs.
  events.addEventListener("error", () => say(events.readyState === EventSource.CLOSED ?
    "The server no longer sends news of this run: what is below may be old. Load the page again." :
    "The connection is lost: what is below may be old. The page tries again.", true));
}

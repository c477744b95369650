// Keeps the counts up to date while the page is visible.
const state = document.getElementById("state");
const look = async () => {
  if (!document.hidden) {
    try {
      const answer = await fetch("/state");
      if (answer.ok) state.innerHTML = await answer.text();
    } catch {
      // The server has ended; the next look may find it again.
    }
  }
  setTimeout(look, 1000);
};
look();

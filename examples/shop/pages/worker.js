// Sends what waits when no page is open, and lets offline.html load without a network.
importScripts("/semel/sw.js");

semelWorker.serveQueue({
  shell: ["/offline.html", "/offline.js", "/worker.js", "/semel/queue.js", "/style.css", "/icon.svg"],
});

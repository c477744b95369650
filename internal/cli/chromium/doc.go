// Package chromium drives a Chromium of this machine by the DevTools protocol, over two pipes: no port is open, and nothing is downloaded. A [Browser]
// is one process with a folder of its own. Each [Profile] has its own cookies and storage.
package chromium

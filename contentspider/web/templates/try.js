"use strict";
const progress = document.getElementById("progress");
const events = new EventSource(progress.dataset.events);
events.onmessage = (event) => { progress.textContent = JSON.parse(event.data); };
events.addEventListener("done", () => { events.close(); location.reload(); });
events.onerror = () => { events.close(); setTimeout(() => location.reload(), 2000); };

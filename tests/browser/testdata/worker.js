postMessage("worker");

// An app in miniature. It does what the policy of the server lets the real one do, and tells other windows what it is.
const shown = [];
(window.opener ?? (parent === window ? undefined : parent))?.postMessage("the app is shown", "*");

const code = new URLSearchParams(location.hash.slice(1)).get("code");
if (code) {
  history.replaceState(null, "", location.pathname);
  const body = JSON.stringify({ code });
  const headers = { "Content-Type": "application/json" };
  const { token } = await (await fetch("/auth", { method: "POST", headers, body })).json();
  const answer = await fetch("/api/v1/secret", { headers: { Authorization: `Bearer ${token}` } });
  shown.push(await answer.text());

  const policy = trustedTypes.createPolicy("heaptap", { createScriptURL: () => "/worker.js" });
  const worker = new Worker(policy.createScriptURL(""));
  shown.push(await new Promise((resolve) => (worker.onmessage = (event) => resolve(event.data))));

  const image = new Image();
  image.src = URL.createObjectURL(await (await fetch("/image.svg")).blob());
  await image.decode();
  shown.push("image");

  try {
    document.getElementById("place").innerHTML = "<img src=x onerror=alert(1)>"; // needs a policy that there is not
  } catch {
    shown.push("policy");
  }
  document.title = `done: ${shown.join(", ")}`;
}

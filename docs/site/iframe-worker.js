// The search runs in a Worker, which browsers refuse to pages of file://. There its script gets a
// frame of its own instead.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.addEventListener("load", () => this.start(frame.contentWindow, url), { once: true });
      document.body.appendChild(frame);
    }
    start(inner, url) {
      inner.addEventListener = (type, handler) => {
        if (type !== "message") return;
        this.handler = handler;
        this.waiting.splice(0).forEach(data => handler({ data }));
      };
      inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      script.src = url;
      inner.document.head.appendChild(script);
    }
    postMessage(data) {
      if (this.handler) this.handler({ data });
      else this.waiting.push(data);
    }
    terminate() {}
  };
}
// A "-" before a word means "without it" to the search, and "~", "^", "*", "+" and ":" mean
// something too. In the names of options and classes they mean nothing. "ffkit." is said
// everywhere.
{
  const post = Worker.prototype.postMessage;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message && message.type === 2 && typeof message.data === "string")
      message = { ...message, data: message.data.replace(/\bffkit(\.|::)(?=\w)/g, "").replace(/[-+~^*:_./()=]+/g, " ").trim() };
    return post.call(this, message, ...rest);
  };
}

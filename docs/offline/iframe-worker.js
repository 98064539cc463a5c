// Browsers refuse Workers in pages that are opened from a file, and search runs in a Worker. Here it runs in a hidden
// frame instead. The theme's own remedy would be fetched from a server; it leaves this one alone because of its name.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.early = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      frame.srcdoc = "<!doctype html><title>search</title>"
      frame.onload = () => this.start(frame.contentWindow, url)
      document.body.append(frame)
    }

    start(inside, url) {
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = inside.document.createElement("script")
      script.onload = () => {
        this.postMessage = data => inside.dispatchEvent(new inside.MessageEvent("message", { data }))
        this.early.forEach(data => this.postMessage(data))
      }
      script.src = new URL(url, location).href
      inside.document.body.append(script)
    }

    postMessage(data) {
      this.early.push(data)
    }
  }
  window.Worker = window.IFrameWorker
}

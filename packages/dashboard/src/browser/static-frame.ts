/** The document comes with an empty frame, so that something is painted while the code loads. The first rendered page replaces it. */
export function replaceFrame(root: HTMLElement): void {
  const frame = document.getElementById('frame')
  if (frame === null) return
  const observer = new MutationObserver(() => {
    if (root.childElementCount === 0) return
    observer.disconnect()
    frame.remove()
  })
  observer.observe(root, { childList: true })
}

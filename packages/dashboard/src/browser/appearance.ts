/** Theme and density can be chosen in several places, which all show the choice. */
const changes = new EventTarget()

export function appearanceChanged(): void {
  changes.dispatchEvent(new Event('change'))
}

export function subscribeToAppearance(listener: () => void): () => void {
  changes.addEventListener('change', listener)
  return () => changes.removeEventListener('change', listener)
}

/** Appears after a delay, so that a quick response does not flicker. */
export function Loading({ what }: { what: string }) {
  return (
    <p role="status" className="animate-[appear_0s_0.3s_both] px-4 py-6 text-center text-dim">
      Loading {what}…
    </p>
  )
}

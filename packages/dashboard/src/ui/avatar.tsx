/** A person is round and an agent is square. The name stands beside it, or is its tooltip. */
export function Avatar({ name, of = 'person' }: { name: string; of?: 'person' | 'agent' }) {
  const look = of === 'person' ? 'rounded-full bg-accent-soft text-accent' : 'rounded-sm bg-merged-soft text-merged'
  return (
    <span
      aria-hidden
      title={name}
      className={`inline-grid size-5 flex-none place-items-center text-[0.5625rem]/none font-semibold tracking-tighter whitespace-nowrap ${look}`}
    >
      {initials(name)}
    </span>
  )
}

function initials(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter((word) => word !== '')
  const letters = words.length > 1 ? [words[0]!, words.at(-1)!] : words
  return letters.map((word) => [...word][0]!.toUpperCase()).join('') || '?'
}

/** The names under which models know the tools of connectors: short, of plain characters, each once. */
import { createHash } from 'node:crypto'

/** The runtime puts `svc_` before them, and models take names of 64 characters. */
const charsMax = 56

export interface Named<T> {
  offeredAs: string
  slug: string
  tool: T
}

/** In the order of the connectors. `taken` are names that are given already. */
export function nameTools<T extends { name: string }>(
  connectors: readonly { slug: string; tools: readonly T[] }[],
  taken: readonly string[],
): Named<T>[] {
  const used = new Set(taken)
  return connectors.flatMap(({ slug, tools }) =>
    tools.map((tool) => {
      const wanted = `${slug}_${tool.name}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
      const isPlain = wanted.length <= charsMax && !used.has(wanted)
      const offeredAs = isPlain ? wanted : `${wanted.slice(0, charsMax - 9)}_${digest(slug, tool.name)}`
      used.add(offeredAs)
      return { offeredAs, slug, tool }
    }),
  )
}

/** Of both names, so that a name stays the same whatever else is offered. */
function digest(slug: string, name: string): string {
  return createHash('sha256').update(`${slug}\0${name}`).digest('hex').slice(0, 8)
}

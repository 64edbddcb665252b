/** The largest page of a list. */
export const pageSize = 1000
/** Stops after this many pages, so that an endless list cannot hang the client. */
const pagesMax = 20

interface PageQuery {
  limit: number
  cursor?: string
}

export async function allPages<T>(
  read: (query: PageQuery) => Promise<{ data: T[]; cursor: string | null }>,
): Promise<T[]> {
  const found: T[] = []
  let cursor: string | null = null
  for (let i = 0; i < pagesMax; i++) {
    const next: { data: T[]; cursor: string | null } = await read({
      limit: pageSize,
      ...(cursor === null ? {} : { cursor }),
    })
    found.push(...next.data)
    cursor = next.cursor
    if (cursor === null) break
  }
  return found
}

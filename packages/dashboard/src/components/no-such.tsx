import type { ReactNode } from 'react'

/** In place of a page whose subject does not exist. The link leads to the list of those that do. */
export function NoSuch({ title, link }: { title: string; link: ReactNode }) {
  return (
    <>
      <h1 className="text-xl font-semibold">{title}</h1>
      <p className="mt-2 text-dim">{link}</p>
    </>
  )
}

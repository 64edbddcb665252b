import type { ReactNode } from 'react'

/** A page with its heading. `aside` stands beside the heading. */
export function Page({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  const heading = <h1 className="text-xl font-semibold">{title}</h1>
  return (
    <div className="flex flex-col gap-6">
      {aside === undefined ? (
        heading
      ) : (
        <div className="flex flex-wrap items-center justify-between gap-2">
          {heading}
          {aside}
        </div>
      )}
      {children}
    </div>
  )
}

import type { ReactNode } from 'react'

/** Text of a program, which scrolls by itself. */
export function Output({ label, className, children }: { label?: string; className: string; children: ReactNode }) {
  return (
    <pre
      tabIndex={0}
      aria-label={label}
      className={`overflow-auto rounded-md bg-sunken p-3 text-xs break-all whitespace-pre-wrap ${className}`}
    >
      {children}
    </pre>
  )
}

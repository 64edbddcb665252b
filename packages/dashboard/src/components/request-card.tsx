import type { ReactNode } from 'react'
import { Time } from '../ui/text.tsx'
import { Failure } from './requests.tsx'

/** A request of the agent to a person. It is the loudest thing on the page, because the agent waits. */
export function RequestCard({
  title,
  link = null,
  at,
  details,
  error,
  children,
}: {
  title: string
  /** Where the request comes from. */
  link?: ReactNode
  at: string
  details: { label: string; text: string }
  /** Why the answer failed. */
  error: Error | null
  children: ReactNode
}) {
  return (
    <div className="flex flex-col gap-3 rounded-lg border border-warn bg-warn-soft px-4 py-3">
      {error !== null && <Failure error={error} />}
      <p className="flex flex-wrap items-baseline gap-x-2">
        <span className="min-w-0 text-lg font-semibold break-words">{title}</span>
        {link}
        <Time at={at} />
      </p>
      {details.text !== '' && (
        <pre
          tabIndex={0}
          aria-label={details.label}
          className="max-h-60 overflow-auto rounded-md border border-edge bg-sunken p-3 font-mono text-xs break-words whitespace-pre-wrap"
        >
          {details.text}
        </pre>
      )}
      {children}
    </div>
  )
}

export const permissionTitle = (what: string) => `The agent asks for permission: ${what}`

export function AnswerButtons({ children }: { children: ReactNode }) {
  return <p className="flex flex-wrap gap-2">{children}</p>
}

import type { ReactNode } from 'react'

/** An error, a warning, or a message. Screen readers announce it. */
export function Notice({
  tone = 'bad',
  title,
  children,
  action,
}: {
  tone?: 'bad' | 'warn' | 'neutral'
  title: string
  children?: ReactNode
  action?: ReactNode
}) {
  const edge = { bad: 'border-l-bad', warn: 'border-l-warn', neutral: 'border-l-line-strong' }[tone]
  return (
    <div
      role={tone === 'bad' ? 'alert' : 'status'}
      className={`flex flex-wrap items-center gap-x-4 gap-y-2 rounded-md border border-l-4 border-line bg-raised px-4 py-3 ${edge}`}
    >
      <div className="min-w-0 flex-1">
        <p className="font-medium">{title}</p>
        {children !== undefined && children !== null && <div className="text-sm text-dim">{children}</div>}
      </div>
      {action}
    </div>
  )
}

import { type ButtonHTMLAttributes, type ReactNode, useState } from 'react'

export type ButtonKind = 'plain' | 'primary' | 'merge' | 'danger' | 'quiet'

const looks: Record<ButtonKind, string> = {
  plain: 'border border-line-strong bg-raised text-text hover:bg-sunken',
  primary: 'bg-accent-fill text-white hover:brightness-110',
  merge: 'bg-good-fill text-white hover:brightness-110',
  danger: 'bg-bad-fill text-white hover:brightness-110',
  quiet: 'text-dim hover:bg-raised hover:text-text',
}

export const buttonClass = (kind: ButtonKind = 'plain') =>
  `inline-flex min-h-9 items-center justify-center gap-1.5 rounded-md px-3 text-sm font-medium whitespace-nowrap ${looks[kind]} aria-disabled:cursor-not-allowed aria-disabled:opacity-55 aria-disabled:hover:brightness-100`

/** A button that cannot be pressed stays reachable by keyboard and says why: under the pointer, to a screen reader, and to whoever presses it. */
export function Button({
  kind = 'plain',
  disabledReason = null,
  busy = false,
  className = '',
  onClick,
  children,
  ...rest
}: Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> & {
  kind?: ButtonKind
  disabledReason?: string | null
  busy?: boolean
  children: ReactNode
}) {
  const [isAsked, setAsked] = useState(false)
  const off = disabledReason !== null || busy
  return (
    <>
      <button
        type="button"
        {...rest}
        aria-disabled={off || undefined}
        title={disabledReason ?? rest.title}
        aria-busy={busy || undefined}
        className={`${buttonClass(kind)} ${className}`}
        onClick={(event) => {
          if (!off) return onClick?.(event)
          event.preventDefault()
          setAsked(true)
        }}
        onBlur={() => setAsked(false)}
      >
        {children}
      </button>
      {isAsked && disabledReason !== null && (
        <span role="status" className="self-center text-sm text-dim">
          {disabledReason}
        </span>
      )}
    </>
  )
}

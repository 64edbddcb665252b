import { type ButtonHTMLAttributes, type ReactNode, useState } from 'react'

export type ButtonKind = 'plain' | 'primary' | 'merge' | 'danger' | 'quiet'

const styles: Record<ButtonKind, string> = {
  plain: 'border border-line-strong bg-raised text-text hover:bg-sunken',
  primary: 'bg-accent-fill text-white hover:brightness-110',
  merge: 'bg-good-fill text-white hover:brightness-110',
  danger: 'bg-bad-fill text-white hover:brightness-110',
  quiet: 'text-dim hover:bg-raised hover:text-text',
}

export const buttonClass = (kind: ButtonKind = 'plain') =>
  `inline-flex min-h-9 items-center justify-center gap-1.5 rounded-md px-3 text-sm font-medium whitespace-nowrap ${styles[kind]} aria-disabled:cursor-not-allowed aria-disabled:opacity-55 aria-disabled:hover:brightness-100`

/** A disabled button stays reachable by keyboard and shows the reason on hover, on press, and to a screen reader. */
export function Button({
  kind = 'plain',
  disabledReason = null,
  action,
  busy = action?.isPending ?? false,
  className = '',
  onClick = () => action?.mutate(),
  children,
  ...rest
}: Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> & {
  kind?: ButtonKind
  disabledReason?: string | null
  /** What a press runs. The button is busy while it runs. */
  action?: { isPending: boolean; mutate: () => void }
  busy?: boolean
  children: ReactNode
}) {
  const [isPressed, setPressed] = useState(false)
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
          if (!off) return onClick(event)
          event.preventDefault()
          setPressed(true)
        }}
        onBlur={() => setPressed(false)}
      >
        {children}
      </button>
      {isPressed && disabledReason !== null && (
        <span role="status" className="self-center text-sm text-dim">
          {disabledReason}
        </span>
      )}
    </>
  )
}

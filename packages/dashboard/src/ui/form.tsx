import { type ButtonHTMLAttributes, type ComponentProps, type ReactNode, useState } from 'react'

export interface Action<Given = void> {
  isPending: boolean
  mutate: (given: Given) => void
}

export type ButtonKind = 'plain' | 'primary' | 'merge' | 'danger' | 'quiet'

/** A disabled button has no color of its kind, so that no enabled one looks less alive. Its text keeps a contrast of 4.5:1, and the line of a filled one 3:1. */
const neutral = 'aria-disabled:bg-hover aria-disabled:text-faint'
const filled = `text-on-fill hover:brightness-110 aria-disabled:ring-1 aria-disabled:ring-inset aria-disabled:ring-line-strong aria-disabled:brightness-100 ${neutral}`

const styles: Record<ButtonKind, string> = {
  plain: `border border-edge bg-raised text-text hover:bg-hover aria-disabled:border-line ${neutral}`,
  primary: `bg-accent-fill ${filled}`,
  merge: `bg-good-fill ${filled}`,
  danger: `bg-bad-fill ${filled}`,
  quiet: `text-dim hover:bg-hover hover:text-text aria-disabled:bg-transparent aria-disabled:text-faint aria-disabled:opacity-80`,
}

export const buttonClass = (kind: ButtonKind = 'plain') =>
  `inline-flex min-h-control items-center justify-center gap-1.5 rounded-md px-2.5 text-sm font-medium whitespace-nowrap ${styles[kind]} aria-disabled:cursor-not-allowed`

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
  /** A press runs this. The button is busy while it runs. */
  action?: Action
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

export const fieldClass = 'min-h-control rounded-md border border-line-strong bg-panel px-2.5 py-1 text-base text-text'

interface Labelled {
  label: string
  hint?: string | undefined
  /** Takes the whole row of its form. */
  wide?: boolean | undefined
}

function Label({ label, hint, wide = false, children }: Labelled & { children: ReactNode }) {
  return (
    <label className={`flex min-w-0 flex-col gap-1 text-sm text-dim ${wide ? 'col-span-full basis-full!' : ''}`}>
      {/* In one line where there is room, so that labels beside each other are level. */}
      <span className="flex flex-wrap items-baseline gap-x-2">
        <span>{label}</span> {hint !== undefined && <span className="text-xs text-faint">{hint}</span>}
      </span>
      {children}
    </label>
  )
}

type Field<Tag extends 'input' | 'textarea' | 'select', Value extends string = string> = Labelled &
  Omit<ComponentProps<Tag>, 'onChange' | 'value'> & { value: Value; onChange: (value: Value) => void }

export function Input({ label, hint, wide, onChange, ...rest }: Field<'input'>) {
  return (
    <Label label={label} hint={hint} wide={wide}>
      <input {...rest} className={fieldClass} onChange={({ target }) => onChange(target.value)} />
    </Label>
  )
}

/** `onSend` runs on Ctrl+Enter or Cmd+Enter. */
export function TextArea({
  label,
  hint,
  wide,
  onChange,
  onSend,
  className = '',
  rows = 4,
  ...rest
}: Field<'textarea'> & { onSend?: () => void }) {
  return (
    <Label label={label} hint={hint} wide={wide}>
      <textarea
        {...rest}
        rows={rows}
        className={`${fieldClass} ${className}`}
        onChange={({ target }) => onChange(target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onSend?.()
        }}
      />
    </Label>
  )
}

type Option<Value extends string> = readonly [value: Value, label: string]

export function Select<Value extends string>({
  label,
  hint,
  wide,
  options,
  onChange,
  ...rest
}: Field<'select', Value> & { options: readonly Option<Value>[] }) {
  return (
    <Label label={label} hint={hint} wide={wide}>
      {/* As high as an input, so that labels beside each other are level. A select has a line height of its own. */}
      <select
        {...rest}
        className={`${fieldClass} h-[calc(var(--text-base)*var(--text-base--line-height)+0.625rem)]`}
        onChange={({ target }) => onChange(target.value as Value)}
      >
        {options.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
    </Label>
  )
}

export const sideBySide = 'flex flex-wrap items-end gap-3 *:[label]:flex-1 *:[label]:basis-52'

/** For a form of settings: fields of one width, and what follows them on lines of its own. */
export const twoColumns = 'grid items-end gap-3 px-4 py-3 sm:grid-cols-2 [&>:not(label)]:col-span-full'

export function Form({
  className = `px-4 py-3 ${sideBySide}`,
  onSubmit,
  ...rest
}: Omit<ComponentProps<'form'>, 'onSubmit'> & { onSubmit: () => unknown }) {
  return (
    <form
      {...rest}
      className={className}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    />
  )
}

/** The values of a form's fields. `field` gives the props of an input. */
export function useFields<Values extends Record<string, string>>(initial: Values) {
  const [values, setValues] = useState(initial)
  return fieldsOf(values, setValues)
}

/** The same for values that are kept elsewhere. */
export function fieldsOf<Values extends Record<string, string>>(
  values: Values,
  setValues: (next: (before: Values) => Values) => void,
) {
  const set = (changed: Partial<Values>) => setValues((before) => ({ ...before, ...changed }))
  return {
    values,
    set,
    field: <Name extends keyof Values>(name: Name) => ({
      value: values[name],
      onChange: (value: Values[Name]) => set({ [name]: value } as unknown as Partial<Values>),
    }),
  }
}

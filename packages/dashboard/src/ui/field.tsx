import type { ComponentProps, ReactNode } from 'react'

const fieldClass = 'rounded-md border border-line-strong bg-ground px-3 py-1.5 text-base text-text'

interface Labelled {
  label: string
  hint?: string | undefined
  /** Takes the whole row of its form. */
  wide?: boolean | undefined
}

function Label({ label, hint, wide = false, children }: Labelled & { children: ReactNode }) {
  return (
    <label className={`flex min-w-0 flex-col gap-1 text-sm text-dim ${wide ? 'basis-full!' : ''}`}>
      {label}
      {hint !== undefined && <span className="text-xs">{hint}</span>}
      {children}
    </label>
  )
}

type Field<Tag extends 'input' | 'textarea' | 'select', Value extends string = string> = Labelled &
  Omit<ComponentProps<Tag>, 'onChange' | 'value'> & { value: Value; onChange: (value: Value) => void }

export function Input({ label, hint, wide, onChange, ...rest }: Field<'input'>) {
  return (
    <Label label={label} hint={hint} wide={wide}>
      <input {...rest} className={`min-h-9.5 ${fieldClass}`} onChange={({ target }) => onChange(target.value)} />
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
      <select
        {...rest}
        className={`min-h-9.5 ${fieldClass}`}
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

/** A form with its fields side by side where they fit. */
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

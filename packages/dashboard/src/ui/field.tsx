import type { ComponentProps, ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from 'react'

const look = 'rounded-md border border-line-strong bg-ground px-3 py-1.5 text-base text-text'

interface About {
  label: string
  hint?: string | undefined
  /** It takes the whole row of its form. */
  wide?: boolean | undefined
}

function Label({ label, hint, wide = false, children }: About & { children: ReactNode }) {
  return (
    <label className={`flex min-w-0 flex-col gap-1 text-sm text-dim ${wide ? 'basis-full!' : ''}`}>
      {label}
      {hint !== undefined && <span className="text-xs">{hint}</span>}
      {children}
    </label>
  )
}

export function Input({ label, hint, wide, ...rest }: ComponentProps<'input'> & About) {
  return (
    <Label label={label} hint={hint} wide={wide}>
      <input {...rest} className={`min-h-9.5 ${look}`} />
    </Label>
  )
}

/** `onSend` is Ctrl+Enter, or Cmd+Enter. */
export function TextArea({
  label,
  hint,
  wide,
  onSend,
  className = '',
  rows = 4,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & About & { onSend?: () => void }) {
  return (
    <Label label={label} hint={hint} wide={wide}>
      <textarea
        {...rest}
        rows={rows}
        className={`${look} ${className}`}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onSend?.()
        }}
      />
    </Label>
  )
}

export function Select({
  label,
  hint,
  wide,
  options,
  ...rest
}: SelectHTMLAttributes<HTMLSelectElement> &
  About & {
    options: readonly (readonly [value: string, words: string])[]
  }) {
  return (
    <Label label={label} hint={hint} wide={wide}>
      <select {...rest} className={`min-h-9.5 ${look}`}>
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </Label>
  )
}

export const sideBySide = 'flex flex-wrap items-end gap-3 *:[label]:flex-1 *:[label]:basis-52'

/** Its fields stand side by side where there is room. */
export function Form({ onSubmit, children }: { onSubmit: () => void; children: ReactNode }) {
  return (
    <form
      className={`px-4 py-3 ${sideBySide}`}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}

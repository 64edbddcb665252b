import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from 'react'

const look = 'rounded-md border border-line-strong bg-ground px-3 py-1.5 text-base text-text'

interface About {
  label: string
  hint?: string | undefined
  /** It takes the whole row of its form. */
  wide?: boolean | undefined
}

function Label({ label, hint, wide = false, children }: About & { children: ReactNode }) {
  return (
    <label className={`flex min-w-0 flex-1 ${wide ? 'basis-full' : 'basis-52'} flex-col gap-1 text-sm text-dim`}>
      {label}
      {children}
      {hint !== undefined && <span className="text-xs">{hint}</span>}
    </label>
  )
}

export function Input({ label, hint, wide, ...rest }: InputHTMLAttributes<HTMLInputElement> & About) {
  return (
    <Label label={label} hint={hint} wide={wide}>
      <input {...rest} className={`min-h-9 ${look}`} />
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
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & About & { onSend?: () => void }) {
  return (
    <Label label={label} hint={hint} wide={wide}>
      <textarea
        {...rest}
        className={`min-h-24 ${look} ${className}`}
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
      <select {...rest} className={`min-h-9 ${look}`}>
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </Label>
  )
}

/** Its fields stand side by side where there is room. */
export function Form({ onSubmit, children }: { onSubmit: () => void; children: ReactNode }) {
  return (
    <form
      className="flex flex-wrap items-end gap-3 px-4 py-3"
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    >
      {children}
    </form>
  )
}

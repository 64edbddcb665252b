import type { InputHTMLAttributes, ReactNode, SelectHTMLAttributes, TextareaHTMLAttributes } from 'react'

const look = 'min-h-9 rounded-md border border-line-strong bg-ground px-3 py-1.5 text-base text-text'

function Label({ label, hint, children }: { label: string; hint?: string | undefined; children: ReactNode }) {
  return (
    <label className="flex min-w-0 flex-1 basis-52 flex-col gap-1 text-sm text-dim">
      {label}
      {children}
      {hint !== undefined && <span className="text-xs">{hint}</span>}
    </label>
  )
}

export function Input({
  label,
  hint,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { label: string; hint?: string }) {
  return (
    <Label label={label} hint={hint}>
      <input {...rest} className={look} />
    </Label>
  )
}

export function TextArea({
  label,
  hint,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { label: string; hint?: string }) {
  return (
    <Label label={label} hint={hint}>
      <textarea {...rest} className={`min-h-24 ${look}`} />
    </Label>
  )
}

export function Select({
  label,
  hint,
  options,
  ...rest
}: SelectHTMLAttributes<HTMLSelectElement> & {
  label: string
  hint?: string
  options: readonly (readonly [value: string, words: string])[]
}) {
  return (
    <Label label={label} hint={hint}>
      <select {...rest} className={look}>
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

import { Input } from '../ui/field.tsx'

interface Field {
  value: string
  onChange: (value: string) => void
}

/** Named so that a browser's password manager knows what to fill in. */
export function EmailField({ value, onChange }: Field) {
  return (
    <Input
      label="E-mail"
      type="email"
      autoComplete="username"
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

export function PasswordField({
  label,
  hint,
  isNew = false,
  value,
  onChange,
}: Field & { label: string; hint?: string; isNew?: boolean }) {
  return (
    <Input
      label={label}
      hint={hint}
      type="password"
      autoComplete={isNew ? 'new-password' : 'current-password'}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

import { Input } from '../../ui/field.tsx'

interface Field {
  value: string
  onChange: (value: string) => void
}

/** `autoComplete` tells a password manager what to fill in. */
export function EmailField({ value, onChange }: Field) {
  return <Input label="Email" type="email" autoComplete="username" value={value} onChange={onChange} />
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
      onChange={onChange}
    />
  )
}

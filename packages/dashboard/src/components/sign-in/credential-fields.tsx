import type { ComponentProps } from 'react'
import { Input } from '../../ui/form.tsx'

interface Field {
  value: string
  onChange: (value: string) => void
}

/** `autoComplete` tells a password manager what to fill in. */
export function EmailField(field: Field) {
  return <Input label="Email" type="email" autoComplete="username" {...field} />
}

export function PasswordField(field: Pick<ComponentProps<typeof Input>, 'label' | 'hint' | 'autoComplete'> & Field) {
  return <Input type="password" autoComplete="current-password" {...field} />
}

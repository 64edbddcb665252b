import { useState } from 'react'

/** The values of a form's fields. `field` gives the props of an input. */
export function useFields<Values extends Record<string, string>>(initial: Values) {
  const [values, setValues] = useState(initial)
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

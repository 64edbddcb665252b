/** Readers of the values of `svc.toml`. They report mistakes and continue. No schema library: the client reads manifests too. */
import { closest } from '../schemas/closest.ts'

export type Path = readonly (string | number)[]
export type Severity = 'error' | 'warning'
/** Where in the text an issue is shown: at the value, at the key, or at the header of the table that lacks something. */
export type Place = 'value' | 'key'

export interface Report {
  (path: Path, message: string, options?: { severity?: Severity; place?: Place }): void
  errors(): number
}

/** Marks a wrong value. Its issue is reported, and the default takes its place. */
export const wrong = Symbol('wrong')
export type Read<T> = (value: unknown, path: Path, report: Report) => T | typeof wrong

export interface Field<T> {
  read: Read<T>
  absent: { required: true } | { required: false; value: T }
}
type Shape = Readonly<Record<string, Field<unknown>>>
export type Shaped<S> = { [K in keyof S]: S[K] extends Field<infer T> ? T : never }

export const required = <T>(read: Read<T>): Field<T> => ({ read, absent: { required: true } })
export const optional = <T>(read: Read<T>): Field<T | null> => ({ read, absent: { required: false, value: null } })
/** Absent stays absent. */
export const maybe = <T>(read: Read<T>): Field<T | undefined> => ({
  read,
  absent: { required: false, value: undefined },
})
export const withDefault = <T>(read: Read<T>, value: T): Field<T> => ({ read, absent: { required: false, value } })

export function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date)
}

/** Omits each wrong key. Reports missing required keys, which only lists of tables have. */
export function readTable<S extends Shape>(shape: S, value: unknown, path: Path, report: Report): Shaped<S> {
  const table = isTable(value) ? value : {}
  if (value !== undefined && !isTable(value)) report(path, `must be a table, but is ${kindOf(value)}`)
  for (const key of Object.keys(table))
    if (!Object.hasOwn(shape, key))
      report([...path, key], unknownKey(key, Object.keys(shape)), { severity: 'warning', place: 'key' })
  const read = Object.entries(shape).map(([key, field]) => {
    const absent = field.absent.required ? null : field.absent.value
    if (!Object.hasOwn(table, key)) {
      if (field.absent.required && isTable(value)) report([...path, key], 'is missing', { place: 'key' })
      return [key, absent]
    }
    const found = field.read(table[key], [...path, key], report)
    return [key, found === wrong ? absent : found]
  })
  return Object.fromEntries(read) as Shaped<S>
}

/** `[name]`: a table that is absent has the defaults of its keys. */
export const table = <S extends Shape>(shape: S): Field<Shaped<S>> => ({
  read: (value, path, report) => readTable(shape, value, path, report),
  absent: { required: false, value: readTable(shape, {}, [], ignoreDefaults) },
})

/** Only lists of tables have required keys, so the defaults of a table make no issue. */
const ignoreDefaults: Report = Object.assign(() => {}, { errors: () => 0 })

/** `[[name]]`: omits entries with an error and keeps the others. */
export const entries = <S extends Shape>(shape: S, options: EntryRule<S>): Field<Shaped<S>[]> =>
  withDefault((value, path, report) => readEntries(shape, value, path, report, options), [])

interface EntryRule<S> {
  id: keyof Shaped<S> & string
  max: number
  check?(entry: Shaped<S>, path: Path, report: Report): void
}

function readEntries<S extends Shape>(
  shape: S,
  value: unknown,
  path: Path,
  report: Report,
  options: EntryRule<S>,
): Shaped<S>[] {
  if (!Array.isArray(value)) {
    report(path, `must be a list of tables: write [[${path.join('.')}]]`)
    return []
  }
  if (value.length > options.max) report(path, `has ${value.length} entries, and at most ${options.max} are allowed`)
  const seen = new Map<unknown, number>()
  const entries: Shaped<S>[] = []
  for (const [index, item] of value.slice(0, options.max).entries()) {
    const before = report.errors()
    const entry = readTable(shape, item, [...path, index], report)
    if (report.errors() === before) options.check?.(entry, [...path, index], report)
    const id = entry[options.id]
    // An entry with another mistake keeps its name, since either of two duplicates may be the intended one.
    const first = id === null ? undefined : seen.get(id)
    if (first !== undefined)
      report([...path, index, options.id], `is used by ${path.join('.')}.${first} too, which remains in effect`)
    else seen.set(id, index)
    if (report.errors() === before) entries.push(entry)
  }
  return entries
}

type TextRule = { max: number; judge?(text: string): string | null } & (
  | { pattern: RegExp; says: string }
  | { pattern?: undefined }
)

/** Reads a value as it is, unless `problem` says what is wrong with it. */
export const reader =
  <T>(problem: (value: unknown) => string | null): Read<T> =>
  (value, path, report) => {
    const message = problem(value)
    if (message === null) return value as T
    report(path, message)
    return wrong
  }

export const text = ({ max, judge, ...rule }: TextRule) =>
  reader<string>((value) => {
    if (typeof value !== 'string') return `must be text, but is ${kindOf(value)}`
    if (value.trim() === '') return 'is empty'
    if (value.includes('\0')) return 'contains a NUL character'
    if (value.length > max) return `is longer than ${max} characters`
    if (rule.pattern && !rule.pattern.test(value)) return rule.says
    return judge?.(value) ?? null
  })

/** A path inside the work tree: relative, no `..`, no leading dash. */
export const relativePath = text({
  max: 200,
  pattern: /^[A-Za-z0-9._][A-Za-z0-9._/-]*$/,
  says: 'is not a relative path of letters, digits, dots, hyphens and underscores',
  judge: (path) => (path.split('/').includes('..') ? 'leaves the repository' : null),
})

export const flag = reader<boolean>((value) =>
  typeof value === 'boolean' ? null : `must be true or false, but is ${kindOf(value)}`,
)

export const number = (min: number, max: number, { whole }: { whole: boolean }) =>
  reader<number>((value) => {
    if (typeof value === 'number' && value >= min && value <= max && (!whole || Number.isInteger(value))) return null
    const what = whole ? 'a whole number' : 'a number'
    return `must be ${what} from ${min} to ${max}, but is ${typeof value === 'number' ? value : kindOf(value)}`
  })

export const choice = <const T extends string>(...choices: T[]) =>
  reader<T>((value) => {
    if (choices.includes(value as T)) return null
    const words = choices.map((word) => JSON.stringify(word)).join(' or ')
    return `must be ${words}, but is ${typeof value === 'string' ? shortened(value) : kindOf(value)}`
  })

/** Omits wrong items and keeps the others. */
export function list<T>(item: Read<T>, max: number) {
  return (value: unknown, path: Path, report: Report): T[] | typeof wrong => {
    if (!Array.isArray(value)) {
      report(path, `must be a list, but is ${kindOf(value)}`)
      return wrong
    }
    if (value.length > max) report(path, `has ${value.length} items, and at most ${max} are allowed`)
    const items = value.slice(0, max).map((one, index) => item(one, [...path, index], report))
    return [...new Set(items.filter((one) => one !== wrong))] as T[]
  }
}

export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'a list'
  if (value instanceof Date) return 'a date'
  const kinds: Record<string, string> = { string: 'text', boolean: 'true or false', number: 'a number' }
  return kinds[typeof value] ?? (isTable(value) ? 'a table' : 'something else')
}

/** Shortens a foreign text for a message: enough to find it, too little to flood. */
export function shortened(value: string): string {
  return JSON.stringify(value.length <= 60 ? value : `${value.slice(0, 59)}…`)
}

/** Other names that people give to a key. */
const otherNames: Record<string, string[]> = { slug: ['name', 'id'], name: ['slug', 'id', 'title'] }

export function unknownKey(key: string, known: string[]): string {
  const near = closest(key, known) ?? known.find((name) => otherNames[name]?.includes(key))
  return near === undefined
    ? `is not known: the keys here are ${known.join(', ')}`
    : `is not known: did you mean ${near}?`
}

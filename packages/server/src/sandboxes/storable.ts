import { z } from 'zod'

/** PostgreSQL rejects NUL and lone surrogates. */
export const storable = (text: string) => text.toWellFormed().replaceAll('\0', '\u{fffd}')

export const storableText = (charsMax: number) => z.string().max(charsMax).transform(storable)

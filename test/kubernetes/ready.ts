/** Exits with 0 once the API server is ready. */
import { get } from './api.ts'

const reply = await get('/readyz').catch(() => null)
process.exitCode = reply?.ok === true ? 0 : 1

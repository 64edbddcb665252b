/** Values sealed under the data key of a project. `aad` names the row of a value, so that it opens in no other row. */
import type { Row } from '../db/schema.ts'
import type { Keyring } from './keyring.ts'

type Owner = Pick<Row<'projects'>, 'project_id' | 'data_key'>
type Aad = readonly (string | number)[]

export function sealFor(
  { keyring }: { keyring: Pick<Keyring, 'seal'> },
  { project_id: projectId, data_key: dataKey }: Owner,
  aad: Aad,
  value: string,
): Buffer {
  return keyring.seal({ projectId, dataKey, aad, value })
}

export function openFor(
  { keyring }: { keyring: Pick<Keyring, 'open'> },
  { project_id: projectId, data_key: dataKey }: Owner,
  aad: Aad,
  sealed: Buffer,
): string {
  return keyring.open({ projectId, dataKey, aad, sealed })
}

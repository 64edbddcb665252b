/** The API server, as the programs inside the cluster's namespaces reach it. Their folder is the cluster's. */
import { readFileSync } from 'node:fs'

const ca = readFileSync('pki/ca.crt', 'utf8')
const token = readFileSync('pki/tokens.csv', 'utf8').split(',')[0]

export async function get(path: string): Promise<Response> {
  return fetch(`https://127.0.0.1:6443${path}`, { headers: { authorization: `Bearer ${token}` }, tls: { ca } })
}

/** Opens an app as a member's browser does: with a ticket first, then with a cookie, at the app's name on the server's port. */
import http from 'node:http'

export interface Seen {
  status: number
  text: string
  cookie: string | null
}

/** `url` is `http://<app>--<project>.localhost:<port>/…`. The connection goes to loopback, whatever the name resolves to. */
export function look(url: string, cookie: string | null): Promise<Seen> {
  const { host, port, pathname, search } = new URL(url)
  return new Promise((resolve, reject) => {
    const headers = { host, accept: 'text/html', ...(cookie === null ? {} : { cookie }) }
    const options = {
      host: '127.0.0.1',
      port,
      path: pathname + search,
      headers,
      timeout: 60_000,
      agent: false as const,
    }
    const request = http.get(options, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (text += chunk))
      response.on('error', reject)
      response.on('end', () => {
        const set = response.headers['set-cookie']?.map((line) => line.split(';')[0]!) ?? []
        resolve({ status: response.statusCode ?? 0, text, cookie: set.length === 0 ? null : set.join('; ') })
      })
    })
    request.on('timeout', () => request.destroy(new Error('It did not answer.')))
    request.on('error', reject)
  })
}

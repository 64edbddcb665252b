/** Secrets of every kind, and their encodings, computed independently of the code under test. */

export const canaries = {
  PLAIN: 'canary-plain-3f9d2c71',
  EIGHT: 'q7#Zp2!x',
  PASSWORD: `p@ss "w0rd" $HOME \`id\` 'x' \\n`,
  UNICODE: 'cänärÿ-ünïcode-🔑-geheim',
  URL: 'postgres://user:p%40ss@db.example.test:5432/app?sslmode=require&x=1',
  JSON: '{"type":"service_account","private_key":"-----BEGIN\\nabc/def+ghi==\\n"}',
  PEM: `-----BEGIN PRIVATE KEY-----\n${'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC'.repeat(2)}\n${'BKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj'.repeat(2)}\n-----END PRIVATE KEY-----\n`,
  BASE64: 'q83vASNFZ4mrze8BI0VniavN7wEjRWeJ+/==',
  HEX: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
  JWT: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  SLASHES: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  SPACES: 'correct horse battery staple',
  REPEATED: 'abababababababababababab',
  PERCENT: '100%25 sure %2F not %zz',
  EMOJI: '🐤🐤🐤🐤🐤🐤🐤🐤',
  LONG: Array.from({ length: 400 }, (_, index) => `long-${index * 7919}`).join(':'),
} as const

/** Eight encodings. */
export function encodingsOfACanary(value: string): [as: string, text: string][] {
  const bytes = new TextEncoder().encode(value)
  const percent = [...bytes].map((byte) =>
    /[0-9A-Za-z\-._~]/.test(String.fromCharCode(byte))
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
  )
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  const base64 = btoa(String.fromCharCode(...bytes))
  return [
    ['raw', value],
    ['base64', base64],
    ['base64url', base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')],
    ['base64 behind one byte', btoa(`x${String.fromCharCode(...bytes)}`).slice(2)],
    ['base64 behind two bytes', btoa(`xy${String.fromCharCode(...bytes)}`).slice(3)],
    ['percent', percent.join('')],
    ['hex', hex],
    ['upper hex', hex.toUpperCase()],
    ['json', JSON.stringify(value).slice(1, -1)],
  ]
}

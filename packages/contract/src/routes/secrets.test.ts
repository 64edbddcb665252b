import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { refuseSecretName } from '../schemas/secret-name.ts'

describe('secret names', () => {
  test.each(['A', 'a', '_', 'OPENAI_API_KEY', 'x9', 'PATHS', 'MY_PATH', 'GITHUB_TOKEN', 'HOMEPAGE', 'A'.repeat(128)])(
    'accepts the secret name %s',
    (name) => expect(refuseSecretName(name)).toBeNull(),
  )

  test.each([
    '',
    '9A',
    'A-B',
    'A B',
    'A=B',
    'A\n',
    '\nA',
    'A\0',
    'Ä',
    'A.B',
    '$A',
    'A'.repeat(129),
    ' A',
    'A ',
    'constructor-x',
    '__proto__ ',
  ])('refuses the malformed secret name %j', (name) => expect(refuseSecretName(name)).not.toBeNull())

  test.each([
    'SVC_TOKEN',
    'SVC_',
    'svc_x',
    'Svc_Token',
    'SVC_WHATEVER_COMES',
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'ld_preload',
    'DYLD_INSERT_LIBRARIES',
    'NODE_OPTIONS',
    'BUN_OPTIONS',
    'BASH_ENV',
    'ENV',
    'PATH',
    'Path',
    'HOME',
    'SHELL',
    'IFS',
    'GIT_SSH_COMMAND',
    'GIT_CONFIG_COUNT',
    'RUNTIME_CONFIG_DIR',
    'OPENCODE_CONFIG',
  ])('refuses the secret name %s, which changes how programs start or is reserved', (name) =>
    expect(refuseSecretName(name)).toBeTruthy(),
  )

  test('refuses every name that starts with SVC_, in any case', () => {
    const anyCase = fc
      .tuple(...[...'svc'].map((c) => fc.constantFrom(c, c.toUpperCase())))
      .map((chars) => chars.join(''))
    fc.assert(
      fc.property(anyCase, fc.stringMatching(/^[A-Za-z0-9_]{0,40}$/), (start, rest) => {
        expect(refuseSecretName(`${start}_${rest}`)).toContain('SVC_')
      }),
    )
  })

  test('every accepted secret name is a valid environment variable', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (name) => {
        if (refuseSecretName(name) === null) expect(name).toMatch(/^[A-Za-z_]\w*$/)
      }),
    )
  })
})

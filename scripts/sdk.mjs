// Builds @svc/sdk to JavaScript and declarations, and packs it as npm would publish it: dist/svc-sdk-<version>.tgz.
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { findBun } from './bun.mjs'
import { aside, isMain, main, readJson, root, runQuietly, step } from './console.mjs'

const home = join(root, 'packages/sdk')
/** The parts of the contract that the SDK uses. */
const contractFiles = ['api', 'api.gen', 'errors']

/** Answers the path of the package. */
export function packSdk() {
  return aside(join(root, 'dist'), async (folder) => {
    const built = join(folder, 'package')
    mkdirSync(built)
    await bundle(built)
    await declare(folder, join(built, 'types'))
    const { name, version, dependencies } = readJson('packages/sdk/package.json')
    writeFileSync(join(built, 'package.json'), JSON.stringify(manifestOf(name, version, dependencies), null, 2))
    cpSync(join(home, 'README.md'), join(built, 'README.md'))
    const file = `svc-sdk-${version}.tgz`
    await runQuietly('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: built })
    renameSync(join(folder, file), join(root, 'dist', file))
    return join(root, 'dist', file)
  })
}

function manifestOf(name, version, { 'openapi-fetch': fetchVersion }) {
  return {
    name,
    version,
    description: 'The TypeScript client of the svc API',
    type: 'module',
    exports: { '.': { types: './types/sdk/src/index.d.ts', default: './index.js' } },
    engines: { node: '>=20' },
    dependencies: { 'openapi-fetch': fetchVersion },
  }
}

async function bundle(built) {
  const out = ['--outfile', join(built, 'index.js'), '--format=esm', '--target=browser', '--external', 'openapi-fetch']
  await runQuietly(findBun(), ['build', join(home, 'src/index.ts'), ...out])
}

/** The declarations of the SDK and of the few files of the contract that it uses, which refer to each other by path. */
async function declare(folder, types) {
  const config = join(folder, 'tsconfig.json')
  const compilerOptions = {
    noEmit: false,
    incremental: false,
    tsBuildInfoFile: null,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: join(root, 'packages'),
    outDir: types,
  }
  writeFileSync(
    config,
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions,
      include: [],
      files: [
        join(home, 'src/index.ts'),
        ...contractFiles.map((name) => join(root, `packages/contract/src/${name}.ts`)),
      ],
    }),
  )
  await runQuietly(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', config])
  for (const path of readdirSync(types, { recursive: true })) {
    if (!path.endsWith('.d.ts')) continue
    const file = join(types, path)
    const contract = relative(dirname(file), join(types, 'contract/src'))
    const text = readFileSync(file, 'utf8')
      .replace(/(from\s+['"])@svc\/contract\/([^'"]+)(['"])/g, `$1${contract}/$2.js$3`)
      .replace(/(from\s+['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2')
    writeFileSync(file, text)
  }
}

if (isMain(import.meta.url)) await main(async () => console.log(await step('Packing @svc/sdk', packSdk)))

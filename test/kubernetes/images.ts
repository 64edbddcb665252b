/** `npm run test:kubernetes -- --images FOLDER` writes the images that the tests need, for the nodes of an existing cluster. */
import { writeSandboxImage } from './sandbox-image.ts'
import { writeStubImage } from './stub-image.ts'

const [folder = '.'] = process.argv.slice(2)
for (const write of [writeStubImage, writeSandboxImage]) console.log(await write(folder))

// Regular expressions of four kinds over one text: `node regexp.mjs ROUNDS`.
const line = (i) => `line ${i} a@b${i}.com 12:${i % 60}:33 "quoted ${i}" path/to/file${i}.ts`;
const text = Array.from({ length: 2000 }, (_, i) => line(i)).join('\n');

function mails() {
  let length = 0;
  for (const [mail] of text.matchAll(/[\w.]+@[\w.]+\.\w+/g)) length += mail.length;
  return length;
}

function times() {
  return text.replace(/(\d+):(\d+):(\d+)/g, (_, hours, minutes, seconds) => `${seconds}-${minutes}-${hours}`)
    .length;
}

function quoted() {
  return text.split('\n').filter((one) => /"[^"]*7"/.test(one)).length;
}

function backtrack() {
  return /(a+)+$/.test(`${'a'.repeat(18)}b`) ? 1 : 0;
}

let sum = 0;
for (let round = 0; round < Number(process.argv[2]); round++) {
  sum += mails() + times() + quoted();
  if (round % 20 === 0) sum += backtrack();
}
console.log(sum);

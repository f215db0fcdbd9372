// everyOne does something with each item, for so many at a time.
export async function everyOne(items, concurrency, work) {
  let next = 0;
  const turn = async () => {
    while (next < items.length) {
      const i = next++;
      await work(items[i], i);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, turn));
}

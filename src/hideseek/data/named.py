"""The data sets that have a name."""

from hideseek.data import embedded, publishers
from hideseek.data.dataset import Dataset, Download, Embedded

_CIFAR_TERMS = "none stated; cite the report"
_CIFAR_CITATION = "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009"

_ALL = (
    Dataset(
        name="mnist",
        title="handwritten digits",
        classes=10,
        shape=(1, 28, 28),
        published={"train": 60_000, "test": 10_000},
        terms="CC BY-SA 3.0",
        citation="LeCun, Bottou, Bengio, Haffner, Gradient-Based Learning Applied to Document Recognition, 1998",
        origin=Download(publishers.MNIST, publishers.read_mnist),
        class_names=tuple("0123456789"),
    ),
    Dataset(
        name="cifar10",
        title="small photographs of ten kinds of things",
        classes=10,
        shape=(3, 32, 32),
        published={"train": 50_000, "test": 10_000},
        terms=_CIFAR_TERMS,
        citation=_CIFAR_CITATION,
        origin=Download((publishers.CIFAR10,), publishers.read_cifar10),
        class_names=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    ),
    Dataset(
        name="cifar100",
        title="small photographs of a hundred kinds of things",
        classes=100,
        shape=(3, 32, 32),
        published={"train": 50_000, "test": 10_000},
        terms=_CIFAR_TERMS,
        citation=_CIFAR_CITATION,
        origin=Download((publishers.CIFAR100,), publishers.read_cifar100),
    ),
    Dataset(
        name="tinyimagenet",
        title="small photographs of 200 ImageNet classes; its validation images are the test split",
        classes=200,
        shape=(3, 64, 64),
        published={"train": 100_000, "test": 10_000},
        terms="research only",
        citation="Le, Yang, Tiny ImageNet Visual Recognition Challenge, 2015",
        origin=Download((publishers.TINYIMAGENET,), publishers.read_tinyimagenet),
    ),
    Dataset(
        name="pneumoniamnist",
        title="chest X-rays of children, normal or with pneumonia",
        classes=2,
        shape=(1, 28, 28),
        published={"train": 4_708, "val": 524, "test": 624},
        terms="CC BY 4.0",
        citation="Yang et al., MedMNIST v2, Scientific Data 2023; Kermany et al., Cell 2018",
        origin=Download((publishers.PNEUMONIAMNIST,), publishers.read_pneumoniamnist),
        class_names=("normal", "pneumonia"),
    ),
    Dataset(
        name="faces",
        title="faces, and pieces of the background of the same photographs",
        classes=2,
        shape=(1, 25, 25),
        published={"train": 160, "test": 40},
        terms="as shipped with scikit-image; none stated by Labeled Faces in the Wild",
        citation="Huang, Mattar, Lee, Learned-Miller, Learning to Align from Scratch, 2012",
        origin=Embedded(embedded.load_faces),
        class_names=embedded.FACE_CLASSES,
    ),
    Dataset(
        name="photos",
        title="patches of the photographs inside scikit-image and scikit-learn",
        classes=len(embedded.PHOTOS),
        shape=(3, embedded.PATCH, embedded.PATCH),
        published={split: count * len(embedded.PHOTOS) for split, count in embedded.PHOTO_COUNTS.items()},
        terms="public domain, CC0 or no known restrictions; palace and flower CC BY 2.0 (danielbuechele, vultilion)",
        citation="van der Walt et al., scikit-image, 2014; Pedregosa et al., scikit-learn, 2011",
        origin=Embedded(embedded.load_photos),
        class_names=tuple(embedded.PHOTOS),
    ),
)
DATASETS: dict[str, Dataset] = {dataset.name: dataset for dataset in _ALL}
